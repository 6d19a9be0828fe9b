/**
 * Reverts of random changes by several actors, compared with an independent model. The variable HISTORIES sets their
 * number.
 *
 * @module-tag long-on-pglite
 */
import { beforeAll, expect, it } from 'vitest';
import type { RevertResolution } from '../../src/core/history/conflicts.ts';
import { restoreVersion } from '../../src/core/history/restore.ts';
import { type RevertSelection, revertActor } from '../../src/core/history/revert.ts';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { createRandom, type Random } from '../support/random.ts';
import { OPERATOR, readSnapshot } from '../support/restore-run.ts';
import { type ModelFile, type ModelVersion, revertFile, revertModelText } from '../support/revert-model.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

const IS_LONG = process.env.TEST_SET === 'long';
const HISTORIES = Number(process.env.HISTORIES ?? (IS_LONG ? 200 : 8));
/** Limit for a test that hangs. */
const TIMEOUT_MS = 60 * 60_000;
const ACTORS = ['mallory', 'mallory', 'alice', 'bob'];
const OPERATOR_NAME = 'ada';

/** A file with all its versions. The ID is known after the first command. */
interface File {
  id: string;
  versions: ModelVersion[];
}

const currentFile = ({ versions }: File) => versions.at(-1)?.file ?? null;

class History {
  readonly files: File[] = [];
  readonly #service: Service;
  readonly #tenant: string;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #random: Random;
  #nextPath = 1;
  #nextLine = 1;

  constructor(service: Service, tenant: string, keys: ReadonlyMap<string, string>, random: Random) {
    this.#service = service;
    this.#tenant = tenant;
    this.#keys = keys;
    this.#random = random;
  }

  async #execute(actor: string, input: object): Promise<void> {
    const headers = { authorization: `Bearer ${this.#keys.get(actor)}` };
    const { body } = await this.#service.execute(input, { tenant: this.#tenant, headers });
    expect(body, JSON.stringify(input)).toMatchObject({ is_error: false });
  }

  /** Every path is used once, so that no path is occupied. */
  #newPath = () => `/memories/d${this.#random.below(2)}/f${this.#nextPath++}`;

  async create(actor: string): Promise<void> {
    const file = {
      path: this.#newPath(),
      lines: ['a', 'b', 'c', 'd'].map((line) => `${line}${this.#nextLine++}`),
    };
    await this.#execute(actor, cmd.create(file.path, revertModelText(file)));
    const [row] = await this.#service.query(
      'SELECT memory_id FROM entries WHERE tenant_id = $1::text AND path = $2::text',
      [this.#tenant, file.path],
    );
    this.files.push({ id: String(row?.memory_id), versions: [{ actor, file }] });
  }

  async change(actor: string): Promise<void> {
    const random = this.#random;
    const file = random.of(this.files);
    const state = file && currentFile(file);
    if (file === undefined || random.below(8) === 0) return this.create(actor);
    if (state == null) return random.below(3) === 0 ? this.#restore(file) : this.create(actor);
    const kind = random.below(10);
    const addVersion = (next: ModelFile | null) => file.versions.push({ actor, file: next });
    if (kind === 0) {
      await this.#execute(actor, cmd.delete(state.path));
      addVersion(null);
    } else if (kind < 3) {
      const path = this.#newPath();
      await this.#execute(actor, cmd.rename(state.path, path));
      addVersion({ ...state, path });
    } else {
      const at = random.below(state.lines.length);
      const before = state.lines[at] ?? '';
      // Sometimes two actors write the same line, or a line returns.
      const line = random.below(4) === 0 ? `same ${at} ${random.below(2)}` : `${actor} ${this.#nextLine++}`;
      if (line === before) return;
      await this.#execute(actor, cmd.replace(state.path, `${before}\n-- ${at} --`, `${line}\n-- ${at} --`));
      addVersion({ ...state, lines: state.lines.with(at, line) });
    }
  }

  /** Restores a deleted file's last version as an operator. */
  async #restore(file: File): Promise<void> {
    const { database } = this.#service;
    const [row] = await this.#service.query(
      `SELECT id FROM versions WHERE tenant_id = $1::text AND memory_id = $2::text::uuid AND operation <> 'deleted'
       ORDER BY id DESC LIMIT 1`,
      [this.#tenant, file.id],
    );
    const last = file.versions.findLast((version) => version.file !== null);
    await restoreVersion(database, this.#tenant, { version: String(row?.id) }, OPERATOR);
    file.versions.push({ actor: OPERATOR_NAME, file: last?.file ?? null });
  }
}

/** Reverts by the model and by the service, first in a dry run, and compares the results. */
async function checkRevert(
  service: Service,
  tenant: string,
  { files }: History,
  given: {
    selection: RevertSelection;
    isTheirs: (version: ModelVersion) => boolean;
    random: Random;
    seed: string;
  },
) {
  const { selection, isTheirs, random, seed } = given;
  const expected = new Map<string, ModelFile | null>();
  const unresolved: string[] = [];
  const resolutions = new Map<string, RevertResolution>();
  for (const file of files) {
    const first = file.versions.findIndex(isTheirs);
    const current = currentFile(file);
    if (first === -1) {
      expected.set(file.id, current);
      continue;
    }
    const { reverted, isConflict } = revertFile(file.versions, first, isTheirs);
    const path = reverted?.path ?? current?.path;
    const choice = random.below(isConflict ? 4 : 20);
    expected.set(file.id, isConflict ? current : reverted);
    if (choice === 0) {
      resolutions.set(file.id, 'current');
      expected.set(file.id, current);
    } else if (choice === 1) {
      resolutions.set(file.id, 'reverted');
      expected.set(file.id, reverted);
    } else if (choice === 2 && path !== undefined) {
      resolutions.set(file.id, { text: revertModelText({ path, lines: ['own'] }) });
      expected.set(file.id, { path, lines: ['own'] });
    } else if (isConflict) unresolved.push(file.id);
  }
  const before = await readTree(service, tenant);
  const options = { ...OPERATOR, resolutions };
  const tried = await revertActor(service.database, tenant, selection, { ...options, dryRun: true });
  expect(await readTree(service, tenant), seed).toStrictEqual(before);
  const expectedPlan = tried.plan;
  const done = await revertActor(service.database, tenant, selection, { ...options, expectedPlan });
  expect({ ...done, changedAt: null }, seed).toStrictEqual(tried);
  const left = done.conflicts.filter(({ resolution }) => resolution === null);
  expect(left.map(({ memoryId }) => memoryId).sort(), seed).toStrictEqual(unresolved.sort());
  const tree = await readTree(service, tenant);
  const after = new Map([...tree].filter(([, content]) => content !== null));
  const contents = [...expected.values()].flatMap((file) => (file === null ? [] : [file]));
  expect([...after].sort(), seed).toStrictEqual(
    contents
      .map((file): [string, string] => [file.path, revertModelText(file)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
  const { ids } = await readSnapshot(service, tenant);
  for (const [id, file] of expected) if (file !== null) expect(ids.get(file.path), seed).toBe(id);
  // A second revert does not change the files that the first one reverted.
  const again = await revertActor(service.database, tenant, selection, { ...OPERATOR, dryRun: true });
  const resolved = new Set(resolutions.keys());
  expect(
    again.files.filter(({ memoryId }) => !resolved.has(memoryId)),
    seed,
  ).toStrictEqual([]);
  return {
    conflicts: unresolved.length,
    merged: done.files.filter((file) => file.mergedSha256 !== null).length,
  };
}

/** Returns the time of the next possible change. */
function microsecondAfter(at: string): string {
  const micros = BigInt(Date.parse(`${at.slice(0, 19)}Z`)) * 1000n + BigInt(at.slice(20, 26)) + 1n;
  return `${new Date(Number(micros / 1000n)).toISOString().slice(0, 20)}${String(micros % 1_000_000n).padStart(6, '0')}Z`;
}

describeService(
  'a revert of random changes',
  (service) => {
    const keys = new Map<string, string>();

    beforeAll(async () => {
      for (const label of new Set(ACTORS)) {
        const { key, hash, id } = newApiKey();
        const common = { tenant: null, access: 'read_write' as const, expiresAt: null };
        await new Keys(service().database).create({ hash, id, label, ...common });
        keys.set(label, key);
      }
    });

    it('removes the selected changes and keeps all other changes', {
      tags: ['random'],
      timeout: TIMEOUT_MS,
    }, async () => {
      const number = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 1e9));
      const random = createRandom(number);
      const seen = { conflicts: 0, merged: 0 };
      for (let i = 0; i < HISTORIES; i++) {
        const tenant = freshTenant('revert-random');
        await new Tenants(service().database).create(tenant);
        const history = new History(service(), tenant, keys, random);
        const changeSome = async (count: number) => {
          for (let j = 0; j < count; j++) await history.change(random.of(ACTORS));
          const lengths = new Map(history.files.map((file) => [file, file.versions.length]));
          return {
            at: (await readSnapshot(service(), tenant)).at,
            fileLength: (file: File) => lengths.get(file) ?? 0,
          };
        };
        const start = await changeSome(1 + random.below(4));
        const end = await changeSome(1 + random.below(12));
        await changeSome(random.below(4));
        // Either all changes by an actor since a time, or the changes by all actors in a period.
        const isPeriod = random.below(4) === 0;
        const isSelected = (file: File, { actor }: ModelVersion, at: number) =>
          at >= start.fileLength(file) && (isPeriod ? at < end.fileLength(file) : actor === 'mallory');
        const selected = new Set(
          history.files.flatMap((file) =>
            file.versions.filter((version, at) => isSelected(file, version, at)),
          ),
        );
        const since = microsecondAfter(start.at);
        const result = await checkRevert(service(), tenant, history, {
          selection: isPeriod ? { since, until: end.at } : { by: 'mallory', since },
          isTheirs: (version) => selected.has(version),
          random,
          seed: `seed ${number}, history ${i}`,
        });
        seen.conflicts += result.conflicts;
        seen.merged += result.merged;
      }
      await assertInvariants(service());
      if (!IS_LONG) return;
      for (const [what, times] of Object.entries(seen))
        expect(times, `seed ${number}: ${what}`).toBeGreaterThan(0);
    });
  },
  { AUTH: 'keys' },
);
