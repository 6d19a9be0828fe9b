/**
 * Drafts: merges with random changes on both sides, compared with an independent model.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import type { Resolution } from '../../src/core/history/merge-file.ts';
import type { Draft } from '../../src/features/drafts/drafts.ts';
import { isTouched } from '../../src/features/drafts/pair-files.ts';
import { Drafting } from '../support/drafting.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import {
  copyModel,
  fileSides,
  isChangedInDraft,
  joinAddedFiles,
  type Model,
  type ModelFile,
  type ModelSides,
  mergeModels,
  modelText,
  modelTree,
  parentDirectories,
} from '../support/merge-model.ts';
import { createRandom, type Random } from '../support/random.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant, type Service } from '../support/test-service.ts';

const CHANGES = process.env.TEST_SET === 'long' ? 3000 : 120;
const CHANGES_A_ROUND = 60;
/** With more files, free paths would be rare. */
const MOST_FILES = 40;

let nextId = 1;
let nextLine = 1;

/** Applies one random command to a memory and to its model. */
async function change(service: Service, tenant: string, model: Model, random: Random, side: string) {
  const { files, directories } = model;
  const execute = async (input: object) => {
    const answer = await service.execute(input, { tenant });
    expect(answer.body, JSON.stringify(input)).toMatchObject({ is_error: false });
  };
  const taken = new Set([...directories, ...[...files.values()].map(({ path }) => path)]);
  // Both sides choose from few paths, so that they collide, also as a file and a directory.
  const freePath = () => {
    for (;;) {
      const names = [`d${random.below(3)}`, `f${random.below(9)}`, `g${random.below(2)}`, 'h'];
      const path = ['/memories', ...names.slice(0, 2 + Math.max(0, random.below(5) - 2))].join('/');
      const isBelowFile = parentDirectories(path).some(
        (above) => taken.has(above) && !directories.has(above),
      );
      if (!taken.has(path) && !isBelowFile) return path;
    }
  };
  const put = (id: number, file: ModelFile) => {
    files.set(id, file);
    for (const path of parentDirectories(file.path)) directories.add(path);
  };
  const kind = files.size > MOST_FILES ? 10 : random.below(11);
  const entry = random.of([...files]);
  if (entry === undefined || kind < 2) {
    const file = {
      path: freePath(),
      lines: ['a', 'b', 'c', 'd'].map((line) => `${line} ${side} ${nextLine++}`),
    };
    put(nextId++, file);
    return execute(cmd.create(file.path, modelText(file)));
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
    const from = file.path;
    put(id, { ...file, path: freePath() });
    return execute(cmd.rename(from, files.get(id)?.path ?? ''));
  }
  if (kind === 8) {
    const deep = [...directories].filter((path) => parentDirectories(path).length > 0);
    const directory = random.of(deep);
    if (directory === undefined) return;
    const isBelowDirectory = (path: string) => path === directory || path.startsWith(`${directory}/`);
    for (const [each, { path }] of files) if (isBelowDirectory(path)) files.delete(each);
    for (const path of directories) if (isBelowDirectory(path)) directories.delete(path);
    return execute(cmd.delete(directory));
  }
  files.delete(id);
  await execute(cmd.delete(file.path));
  if (kind === 9 || random.below(2) === 0) return;
  const again = { path: file.path, lines: file.lines.map(() => `${side} again ${nextLine++}`) };
  put(nextId++, again);
  return execute(cmd.create(again.path, modelText(again)));
}

async function fromDatabase(service: Service, tenant: string): Promise<Model> {
  const model: Model = { files: new Map(), directories: new Set() };
  for (const [path, content] of await readTreeMap(service, tenant)) {
    if (content === null) model.directories.add(path);
    else {
      const lines = content
        .split('\n')
        .filter((line, i, all) => all.length === 1 || (i % 2 === 0 && line !== ''));
      model.files.set(nextId++, { path, lines });
    }
  }
  return model;
}

async function readTreeMap(service: Service, tenant: string): Promise<Map<string, string | null>> {
  const tree = await readTree(service, tenant);
  return new Map([...tree].filter(([path]) => path !== '/memories').sort());
}

/** Identifies a file by its paths on the three sides. */
const sidesText = ({
  base,
  draft,
  original,
}: Record<keyof ModelSides, { path: string } | null | undefined>) =>
  [base, draft, original].map((side) => side?.path ?? '-').join(' ');

const fileLabel = (sides: ModelSides, id: number) => {
  const [base, draft, original] = fileSides(sides, id);
  return sidesText({ base, draft, original });
};

describeServiceOnOwnDatabase('merging random changes', (service) => {
  const drafting = new Drafting(service);

  /** Expects a comparison to match the model. */
  async function checkComparison(draft: Draft, sides: ModelSides, seed: string) {
    const model = mergeModels(sides, new Map());
    const { files, plan } = await drafting.compare(draft);
    const names = new Map(files.map((file) => [file.id, sidesText(file)]));
    const found = [...plan.conflicts].map(
      ([id, kind]) => `${names.get(id)} ${kind === 'occupied' ? 'occupied' : 'conflict'}`,
    );
    const expected = [
      ...[...model.conflicts].map((id) => `${fileLabel(sides, id)} conflict`),
      ...[...model.occupied].map((id) => `${fileLabel(sides, id)} occupied`),
    ];
    expect(found.sort(), seed).toStrictEqual(expected.sort());
    const sortedNames = (ids: Iterable<number>) => [...ids].map((each) => fileLabel(sides, each)).sort();
    const blockedBy = [...model.blockedBy].map(
      ([id, ids]) => [fileLabel(sides, id), sortedNames(ids)] as const,
    );
    // The service still lists a file that was changed and changed back.
    const touched = new Set(files.filter(isTouched).map(sidesText));
    expect(
      [...plan.blockedBy].map(([id, each]) => [names.get(id), each.files.map(sidesText).sort()]).sort(),
    ).toStrictEqual(blockedBy.filter(([name]) => touched.has(name)).sort());
    return model;
  }

  /** Merges if the model permits it and checks the result. Otherwise, expects a rejection without any change. */
  async function tryMerge(
    draft: Draft,
    sides: ModelSides,
    resolutions: ReadonlyMap<number, Resolution>,
    seed: string,
  ) {
    const { tenant } = draft;
    const before = await readTreeMap(service(), tenant);
    const shown = mergeModels(sides, new Map());
    const model = mergeModels(sides, resolutions);
    const resolved = Object.fromEntries([...resolutions].map(([id, each]) => [fileLabel(sides, id), each]));
    const answer = await drafting
      .merge(draft, resolved, { describeFile: sidesText })
      .then(({ changes }) => ({ changes }), String);
    const after = await readTreeMap(service(), tenant);
    const open = [...model.conflicts, ...model.occupied].filter(
      (id) => isChangedInDraft(sides, id) && !resolutions.has(id),
    );
    if (model.conflicts.size + model.occupied.size > 0) {
      // A file that the draft changed and changed back counts as changed in the service, but not in the model.
      expect(answer, seed).toMatch(
        open.length > 0 ? /not resolved: / : /is blocked by|not resolved: .*blocked by/,
      );
      expect(after, seed).toStrictEqual(before);
      return { isMerged: false, pushed: 0 };
    }
    expect(answer, seed).toMatchObject({ changes: expect.anything() });
    expect([...after], seed).toStrictEqual([...modelTree(model.result)]);
    // A merge only deletes, moves, or changes files that the draft changed or that a file resolved by `draft` names.
    const named = new Set(
      [...resolutions].flatMap(([id, each]) =>
        each === 'draft' ? [...(shown.blockedBy.get(id) ?? [])] : [],
      ),
    );
    let pushed = 0;
    for (const [id, file] of sides.original.files) {
      if (isChangedInDraft(sides, id)) continue;
      if (!named.has(id)) expect(after.get(file.path), `${seed} ${file.path}`).toBe(modelText(file));
      else if (after.get(file.path) !== modelText(file)) pushed++;
    }
    return { isMerged: true, pushed };
  }

  it('merges with random resolutions to the same result as a model', { tags: ['random'] }, async () => {
    const number = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 1e9));
    const seed = `seed ${number}`;
    const random = createRandom(number);
    const tenant = freshTenant('random-drafts');
    let original: Model = { files: new Map(), directories: new Set() };
    const seen = { conflicts: 0, occupied: 0, merges: 0, rejected: 0, replaced: 0, pushed: 0 };
    for (let i = 0; i < 12; i++) await change(service(), tenant, original, random, 'start');
    for (let done = 0; done < CHANGES; done += CHANGES_A_ROUND) {
      const sides = { base: copyModel(original), draft: copyModel(original), original };
      const draft = await drafting.create(tenant);
      for (let i = 0; i < CHANGES_A_ROUND; i++) {
        if (random.below(2) === 0) await change(service(), draft.id, sides.draft, random, 'draft');
        else await change(service(), tenant, original, random, 'original');
      }
      expect([...(await readTreeMap(service(), draft.id))], seed).toStrictEqual([...modelTree(sides.draft)]);
      expect([...(await readTreeMap(service(), tenant))], seed).toStrictEqual([...modelTree(original)]);
      joinAddedFiles(sides);
      const { conflicts, occupied } = await checkComparison(draft, sides, seed);
      seen.conflicts += conflicts.size;
      seen.occupied += occupied.size;

      const changed = [...new Set([...sides.base.files.keys(), ...sides.draft.files.keys()])].filter((id) =>
        isChangedInDraft(sides, id),
      );
      const resolvedAtRandom = changed.flatMap((id): [number, Resolution][] => {
        const isConflict = conflicts.has(id) || occupied.has(id);
        // Some conflicts are left out, and some files are resolved without need.
        if (random.below(isConflict ? 60 : 8) === 0 ? isConflict : !isConflict) return [];
        const text = { text: `resolved ${nextLine++}` };
        return [
          [id, random.of<Resolution>(['draft', 'draft', 'original', conflicts.has(id) ? text : 'draft'])],
        ];
      });
      const takeAll = (side: 'draft' | 'original') => new Map(changed.map((id) => [id, side] as const));
      const isReplaced = done % (10 * CHANGES_A_ROUND) === 9 * CHANGES_A_ROUND;
      let isDone = false;
      for (const resolutions of isReplaced
        ? []
        : [new Map(resolvedAtRandom), takeAll('draft'), takeAll('original')]) {
        if (isDone) break;
        const { isMerged, pushed } = await tryMerge(draft, sides, resolutions, seed);
        isDone = isMerged;
        seen.pushed += pushed;
        if (isMerged) seen.merges++;
        else seen.rejected++;
      }
      if (!isDone) {
        seen.replaced++;
        await drafting.replace(draft);
        expect([...(await readTreeMap(service(), tenant))], seed).toStrictEqual([...modelTree(sides.draft)]);
      }
      original = await fromDatabase(service(), tenant);
      // The check reads the whole history, which grows with each round.
      if (done % (10 * CHANGES_A_ROUND) === 0) await assertInvariants(service());
    }
    await assertInvariants(service());
    if (process.env.TEST_SET !== 'long') return;
    for (const [what, times] of Object.entries(seen))
      expect(times, `${seed}: ${what} of ${JSON.stringify(seen)}`).toBeGreaterThan(0);
  });
});
