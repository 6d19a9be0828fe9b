/**
 * Drafts: random changes on both sides, merged, against a model that knows nothing of the service.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import type { Resolution } from '../../src/drafts/merge-file.ts';
import { Drafting } from '../support/drafts.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { describeService, freshTenant, type Service } from '../support/service.ts';
import { cmd } from '../support/table.ts';

/** How many changes are made in all. */
const CHANGES = process.env.TEST_SET === 'long' ? 3000 : 120;
const CHANGES_A_ROUND = 60;

/** A file of the model: its lines that are changed, with lines between them that never are. */
interface ModelFile {
  path: string;
  lines: string[];
}

/** By identity, which the model gives. */
type Model = Map<number, ModelFile>;

/** A file that was settled by a text is that text. */
const textOf = ({ lines }: ModelFile) =>
  lines.length === 1 ? String(lines[0]) : lines.map((line, i) => `${line}\n-- ${i} --\n`).join('');

const copyOf = (model: Model): Model =>
  new Map([...model].map(([id, file]) => [id, { ...file, lines: [...file.lines] }]));

/** The same numbers in each run. */
function randomOf(seed: number) {
  let state = seed;
  const next = () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
  return {
    below: (limit: number) => Math.floor(next() * limit),
    of: <T>(items: readonly T[]) => items[Math.floor(next() * items.length)] as T,
  };
}
type Random = ReturnType<typeof randomOf>;

let nextId = 1;
let nextLine = 1;

/** Changes a memory by one random command, and the model by the same. */
async function change(service: Service, tenant: string, model: Model, random: Random, side: string) {
  const execute = async (input: object) => {
    const answer = await service.execute(input, { tenant });
    expect(answer.body, JSON.stringify(input)).toMatchObject({ is_error: false });
  };
  const taken = new Set([...model.values()].map(({ path }) => path));
  // Paths that both sides use, and few enough that they meet.
  const freePath = () => {
    for (;;) {
      const path = `/memories/d${random.below(4)}/f${random.below(25)}`;
      if (!taken.has(path)) return path;
    }
  };
  // Paths run out before a hundred files.
  const kind = model.size > 60 ? 9 : random.below(10);
  const entry = random.of([...model]);
  if (entry === undefined || kind < 2) {
    const file = {
      path: freePath(),
      lines: ['a', 'b', 'c', 'd'].map((line) => `${line} ${side} ${nextLine++}`),
    };
    model.set(nextId++, file);
    return execute(cmd.create(file.path, textOf(file)));
  }
  const [id, file] = entry;
  if (kind < 6) {
    const at = random.below(file.lines.length);
    const before = file.lines[at] ?? '';
    // Sometimes both sides make the same change.
    const line = random.below(4) === 0 ? `same ${at}` : `${side} ${nextLine++}`;
    if (line === before) return;
    file.lines[at] = line;
    if (file.lines.length === 1) return execute(cmd.replace(file.path, before, line));
    return execute(cmd.replace(file.path, `${before}\n-- ${at} --`, `${line}\n-- ${at} --`));
  }
  if (kind < 8) {
    const path = freePath();
    const from = file.path;
    file.path = path;
    return execute(cmd.rename(from, path));
  }
  model.delete(id);
  await execute(cmd.delete(file.path));
  if (kind === 9 || random.below(2) === 0) return;
  const again = { path: file.path, lines: file.lines.map(() => `${side} again ${nextLine++}`) };
  model.set(nextId++, again);
  return execute(cmd.create(again.path, textOf(again)));
}

/** Who deletes a file and puts another in its place has changed it, and what both sides put at one path is one file. */
function joinNewcomers(base: Model, draft: Model, original: Model): void {
  const rename = (side: Model, from: number, to: number) => {
    const file = side.get(from);
    side.delete(from);
    if (file !== undefined) side.set(to, file);
  };
  const newAt = (side: Model, path: string) =>
    [...side].find(([id, file]) => !base.has(id) && file.path === path)?.[0];
  for (const side of [draft, original]) {
    for (const [id, { path }] of base) {
      const comer = side.has(id) ? undefined : newAt(side, path);
      if (comer !== undefined) rename(side, comer, id);
    }
  }
  for (const [id, { path }] of [...draft]) {
    const comer = base.has(id) ? undefined : newAt(original, path);
    if (comer !== undefined) rename(original, comer, id);
  }
}

/** What was merged, with the forced files as the draft has them, and so what is in their way. */
function force(merged: Model, draft: Model, forced: Set<number>): Model {
  for (;;) {
    const result: Model = new Map([...merged].filter(([id]) => !forced.has(id)));
    for (const id of forced) {
      const file = draft.get(id);
      if (file !== undefined) result.set(id, file);
    }
    const paths = new Set([...result].flatMap(([id, { path }]) => (forced.has(id) ? [path] : [])));
    const inTheWay = [...result].filter(([id, { path }]) => !forced.has(id) && paths.has(path));
    if (inTheWay.length === 0) return result;
    for (const [id] of inTheWay) forced.add(id);
  }
}

/** The files that a draft changed. */
function changedIn(base: Model, draft: Model): Set<number> {
  const textAndPath = (file: ModelFile | undefined) => file && `${file.path}\0${textOf(file)}`;
  const ids = new Set([...base.keys(), ...draft.keys()]);
  return new Set([...ids].filter((id) => textAndPath(base.get(id)) !== textAndPath(draft.get(id))));
}

async function fromDatabase(service: Service, tenant: string): Promise<Model> {
  const model: Model = new Map();
  for (const [path, content] of await filesOf(service, tenant)) {
    const lines = content
      .split('\n')
      .filter((line, i, all) => all.length === 1 || (i % 2 === 0 && line !== ''));
    model.set(nextId++, { path, lines });
  }
  return model;
}

interface Merge {
  /** By where the file is on the three sides. */
  conflicts: Map<string, number>;
  result: Model;
  /** The file as it is merged, when a conflict is settled. */
  settle(id: number, resolution: Resolution): ModelFile | null;
}

/** Where a file is on the three sides, which no other file is. */
const sidesOf = ({ base, draft, original }: Sided) =>
  [base, draft, original].map((side) => side?.path ?? '-').join(' ');
type Side = { path: string } | null | undefined;
interface Sided {
  base: Side;
  draft: Side;
  original: Side;
}

const nameIn = ({ base, draft, original }: Record<keyof Sided, Model>, id: number) =>
  sidesOf({ base: base.get(id), draft: draft.get(id), original: original.get(id) });

/** What the contract of a merge says, file by file and line by line. */
function mergeModels(base: Model, draft: Model, original: Model): Merge {
  const conflicts = new Map<string, number>();
  const result: Model = new Map();
  const same = (a: ModelFile | undefined, b: ModelFile | undefined) =>
    a === b || (a !== undefined && b !== undefined && a.path === b.path && textOf(a) === textOf(b));
  for (const id of new Set([...base.keys(), ...draft.keys(), ...original.keys()])) {
    const [b, d, o] = [base.get(id), draft.get(id), original.get(id)];
    if (same(b, d)) {
      if (o !== undefined) result.set(id, o);
      continue;
    }
    if (same(b, o) || same(d, o)) {
      if (d !== undefined) result.set(id, d);
      continue;
    }
    const merged = d === undefined || o === undefined ? null : mergeFiles(b, d, o);
    if (merged !== null) result.set(id, merged);
    else {
      conflicts.set(sidesOf({ base: b, draft: d, original: o }), id);
      if (o !== undefined) result.set(id, o);
    }
  }
  return {
    conflicts,
    result,
    settle(id, resolution) {
      const [b, d, o] = [base.get(id), draft.get(id), original.get(id)];
      if (resolution === 'draft') return d ?? null;
      if (resolution === 'original') return o ?? null;
      const path = (d && o && b && pathOfBoth(b, d, o)) ?? d?.path ?? o?.path ?? '';
      return { path, lines: [resolution.text] };
    },
  };
}

function pathOfBoth(b: ModelFile | undefined, d: ModelFile, o: ModelFile): string | undefined {
  if (d.path === o.path || d.path === b?.path) return o.path;
  return o.path === b?.path ? d.path : undefined;
}

function mergeFiles(b: ModelFile | undefined, d: ModelFile, o: ModelFile): ModelFile | null {
  const path = pathOfBoth(b, d, o);
  if (path === undefined) return null;
  if (textOf(d) === textOf(o)) return { path, lines: o.lines };
  // Only one side has another text: it is that one, however many lines it has.
  if (b !== undefined && textOf(d) === textOf(b)) return { path, lines: o.lines };
  if (b !== undefined && textOf(o) === textOf(b)) return { path, lines: d.lines };
  if (b === undefined || b.lines.length !== d.lines.length || b.lines.length !== o.lines.length) return null;
  const lines: string[] = [];
  for (const [i, before] of b.lines.entries()) {
    const [mine, theirs] = [d.lines[i] ?? '', o.lines[i] ?? ''];
    if (mine !== before && theirs !== before && mine !== theirs) return null;
    lines.push(mine === before ? theirs : mine);
  }
  return { path, lines };
}

/** Files of a model by their paths; two at one path are told. */
function byPath(model: Model): Map<string, string> | 'two at one path' {
  const files = new Map([...model.values()].map((file) => [file.path, textOf(file)]));
  return files.size === model.size ? files : 'two at one path';
}

async function filesOf(service: Service, tenant: string): Promise<Map<string, string>> {
  const tree = await readTree(service, tenant);
  return new Map([...tree].flatMap(([path, content]) => (content === null ? [] : [[path, content]])));
}

const sorted = (files: Map<string, string>) => [...files].sort();

describeService('merging random changes', (service) => {
  const drafting = new Drafting(service);

  it('makes what the model says, with conflicts settled at random', { tags: ['random'] }, async () => {
    const seed = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 1e9));
    const random = randomOf(seed);
    const tenant = freshTenant('random-drafts');
    let original: Model = new Map();
    const seen = { conflicts: 0, merges: 0, occupied: 0 };
    for (let i = 0; i < 12; i++) await change(service(), tenant, original, random, 'start');
    for (let done = 0; done < CHANGES; done += CHANGES_A_ROUND) {
      const base = copyOf(original);
      const mine = copyOf(original);
      const draft = await drafting.create(tenant);
      for (let i = 0; i < CHANGES_A_ROUND; i++) {
        if (random.below(2) === 0) await change(service(), draft.id, mine, random, 'draft');
        else await change(service(), tenant, original, random, 'original');
      }
      expect(sorted(await filesOf(service(), draft.id)), `seed ${seed}`).toStrictEqual(
        sorted(byPath(mine) as Map<string, string>),
      );
      joinNewcomers(base, mine, original);
      const model = mergeModels(base, mine, original);
      const compared = await drafting.compare(draft);
      const paths = new Map(compared.files.map((file) => [file.id, sidesOf(file)]));
      const kinds = [...compared.plan.conflicts];
      const found = kinds.filter(([, { kind }]) => kind !== 'occupied').map(([id]) => paths.get(id) ?? '');
      expect(found.sort(), `seed ${seed}`).toStrictEqual([...model.conflicts.keys()].sort());

      const settled: Record<string, Resolution> = {};
      const forced = new Set<number>();
      for (const [path, id] of model.conflicts) {
        const resolution = random.of<Resolution>(['draft', 'original', { text: `settled ${nextLine++}` }]);
        settled[path] = resolution;
        if (resolution === 'draft') forced.add(id);
        const file = model.settle(id, resolution);
        model.result.delete(id);
        if (file !== null) model.result.set(id, file);
      }
      const result = force(model.result, mine, forced);
      const wanted = byPath(result);
      seen.conflicts += model.conflicts.size;
      let expected = result;
      if (wanted === 'two at one path') {
        // Something is in the way of what moved: the reviewer prefers the draft in all, or takes nothing but the draft.
        seen.occupied++;
        // What is taken from the draft makes room for itself, also through others. Where nothing is, what is in the way has to be settled.
        const kept = Object.fromEntries(
          [...model.conflicts.keys()].map((each) => [each, 'original' as const]),
        );
        if (byPath(mergeModels(base, mine, original).result) === 'two at one path') {
          const merged = drafting.merge(draft, kept, { nameOf: sidesOf }).then(() => 'merged', String);
          expect(await merged, `seed ${seed}`).toContain('not settled');
        }
        if (random.below(2) === 0) {
          expected = mine;
          await drafting.replace(draft);
        } else {
          const changed = changedIn(base, mine);
          const all = [...changed].map(
            (id) => [nameIn({ base, draft: mine, original }, id), 'draft'] as const,
          );
          expected = force(original, mine, changed);
          await drafting.merge(draft, Object.fromEntries(all), { nameOf: sidesOf });
        }
      } else {
        seen.merges++;
        await drafting.merge(draft, settled, { nameOf: sidesOf });
      }
      expect(sorted(await filesOf(service(), tenant)), `seed ${seed}`).toStrictEqual(
        sorted(byPath(expected) as Map<string, string>),
      );
      original = await fromDatabase(service(), tenant);
      await assertInvariants(service());
    }
    expect(seen.merges, JSON.stringify(seen)).toBeGreaterThan(0);
    expect(seen.conflicts, JSON.stringify(seen)).toBeGreaterThan(0);
  });
});
