/**
 * Random changes by several actors, restores, reverts, redactions, and prunes. The past must match the model.
 *
 * @module-tag long-on-pglite
 */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pruneHistory } from '../../src/core/history/pruning.ts';
import { eraseVersion } from '../../src/core/history/redact.ts';
import { revertActor } from '../../src/core/history/revert.ts';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { fuzzParameters, type Input } from '../support/arbitraries.ts';
import { assertInvariants } from '../support/invariants.ts';
import {
  HistoryModel,
  idsAfter,
  type State,
  stateDirectories,
  stateFiles,
  versionKey,
} from '../support/model/history-model.ts';
import { ROOT } from '../support/model/model-path.ts';
import { run } from '../support/model.ts';
import { OPERATOR, readSnapshot, restore, type Snapshot } from '../support/restore-run.ts';
import { runCli } from '../support/run-cli.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service, setHistoryDays } from '../support/test-service.ts';

const DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;
const ACTORS = ['bob', 'eve', 'kim'];
/** A script runs as long as hundreds of commands, so `npm test` runs only a few. */
const RUNS = process.env.TEST_SET === 'long' ? { postgres: 40, pglite: 12 } : { postgres: 16, pglite: 8 };

const name = fc.constantFrom('a', 'b', 'c');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `/memories/${names.join('/')}`);
const text = fc.constantFrom('', 'x', 'y', 'x\ny\n', 'é');
const input: fc.Arbitrary<Input> = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(path, text).map(([at, content]) => cmd.create(at, content)) },
  {
    weight: 3,
    arbitrary: fc.tuple(path, fc.constantFrom('x', 'y'), text).map((each) => cmd.replace(...each)),
  },
  { weight: 2, arbitrary: path.map((at) => cmd.insert(at, 0, 'x')) },
  { weight: 2, arbitrary: path.map((at) => cmd.delete(at)) },
  { weight: 4, arbitrary: fc.tuple(path, path).map((each) => cmd.rename(...each)) },
);
/** Time of an earlier change, or just before that change. */
const time = fc.record({ change: fc.nat(), before: fc.boolean() });
const actor = fc.constantFrom(...ACTORS);
const step = fc.oneof(
  { weight: 24, arbitrary: fc.record({ kind: fc.constant('command' as const), actor, input }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('restore' as const),
      time,
      path: fc.oneof(fc.constant(ROOT), path),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('revert' as const), time, actor }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('redact' as const), version: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('prune' as const), time, bytes: fc.constantFrom(0, 0, 4000) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('look' as const), time }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('keep' as const), days: fc.constantFrom(0, DAYS, DAYS) }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const script = fc.array(step, { minLength: 15, maxLength: 40, size: 'max' });

function microsecondBefore(at: string): string {
  const micros = BigInt(Date.parse(`${at.slice(0, 19)}Z`)) * 1000n + BigInt(at.slice(20, 26)) - 1n;
  return `${new Date(Number(micros / 1000n)).toISOString().slice(0, 20)}${String(micros % 1_000_000n).padStart(6, '0')}Z`;
}

interface LogLine {
  id: string;
  memory_id: string;
  operation: string;
  path: string | null;
  content_sha256: string | null;
  created_at: string;
  actor: { label?: string; name?: string };
  redacted_at: string | null;
}

class World {
  readonly service: Service;
  readonly tenant = freshTenant('past');
  readonly keys: ReadonlyMap<string, string>;
  model = new HistoryModel('');
  /** Days for which the tenant keeps its history; 0 while the history is off. */
  days = DAYS;

  constructor(service: Service, keys: ReadonlyMap<string, string>) {
    this.service = service;
    this.keys = keys;
  }

  async begin(): Promise<void> {
    await new Tenants(this.service.database).create(this.tenant);
    this.model = new HistoryModel(await this.readHistoryStart());
  }

  /** Returns the time at which the complete history starts. */
  async readHistoryStart(): Promise<string> {
    const [row] = await this.service.query(
      `SELECT to_char(history_since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at FROM tenants WHERE id = $1::text`,
      [this.tenant],
    );
    return String(row?.at);
  }

  changeTime({ change, before }: { change: number; before: boolean }): string {
    const { at } = this.model.changes[change % this.model.changes.length] ?? this.model.now;
    return before ? microsecondBefore(at) : at;
  }

  /** Records a change in the model unless the memory is unchanged. */
  note(after: Snapshot, actor: string): void {
    if (after.at === this.model.now.at) return;
    const { tree, ids } = this.model.now;
    if (isEqual(after, { tree, ids })) return;
    expect(after.at > this.model.now.at).toBe(true);
    this.model.changes.push({ ...after, actor });
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'command':
        return this.command(step.actor, step.input);
      case 'restore':
        return this.restore(this.changeTime(step.time), step.path);
      case 'revert':
        return this.revert(step.actor, this.changeTime(step.time));
      case 'redact':
        return this.redact(step.version);
      case 'prune':
        return this.prune(this.changeTime(step.time), step.bytes);
      case 'look':
        return this.look(this.changeTime(step.time));
      case 'keep':
        this.days = step.days;
        return setHistoryDays(this.service, this.tenant, step.days);
    }
  }

  async command(actor: string, given: Input): Promise<void> {
    const before = this.model.now;
    const expected = run(before.tree, given);
    const headers = { authorization: `Bearer ${this.keys.get(actor)}` };
    const { content, is_error } = await this.service.execute(given, { tenant: this.tenant, headers });
    expect({ given, content, is_error }).toEqual({ given, ...expected.result });
    const after = await readSnapshot(this.service, this.tenant);
    expect(after.tree).toEqual(expected.tree);
    const ids = expected.result.is_error ? before.ids : idsAfter(before, expected.tree, given);
    for (const [at, id] of after.ids) {
      if (ids.get(at) !== undefined) expect([at, id]).toStrictEqual([at, ids.get(at)]);
      else for (const change of this.model.changes) expect([...change.ids.values()]).not.toContain(id);
    }
    this.note(after, actor);
  }

  async restore(at: string, top: string): Promise<void> {
    const before = await readSnapshot(this.service, this.tenant);
    const expected = this.model.restoredState(top, at);
    const error = await restore(this.service, this.tenant, at, top).then(
      () => undefined,
      ({ message }: Error) => message,
    );
    const after = await readSnapshot(this.service, this.tenant);
    if (error !== undefined) {
      expect(after).toEqual(before);
      if (error.includes('is complete only since')) expect(at < (await this.readHistoryStart())).toBe(true);
      else if (error.includes('has been redacted')) expect(this.model.redacted.size).toBeGreaterThan(0);
      else if (/ does not exist|did not exist/.test(error) && this.model.redacted.size > 0) return;
      else
        expect([error, expected]).toEqual([
          expect.stringMatching(/Cannot restore|does not exist/),
          expect.any(String),
        ]);
      return;
    }
    if (typeof expected === 'string') expect([expected, 'a restore that was done']).toBe('the same');
    else this.expectState(after, expected);
    this.note(after, 'ada');
  }

  /** Directories in a redacted version's path are missing from the past. */
  expectState(actual: State, expected: State): void {
    expect(actual.ids).toEqual(expected.ids);
    expect(stateFiles(actual)).toEqual(stateFiles(expected));
    this.expectDirectories(stateDirectories(actual), stateDirectories(expected));
  }

  expectDirectories(actual: string[], expected: string[]): void {
    const missing = expected.filter((each) => !actual.includes(each));
    const tops = new Set([...this.model.redactedPaths].map((each) => each.split('/')[2]));
    expect(missing.filter((each) => !tops.has(each.split('/')[2]))).toStrictEqual([]);
    expect(actual.filter((each) => !expected.includes(each))).toStrictEqual([]);
  }

  async revert(by: string, since: string): Promise<void> {
    const before = await readSnapshot(this.service, this.tenant);
    const expected = this.model.revertedState(by, since);
    const done = await revertActor(this.service.database, this.tenant, { by, since }, OPERATOR).catch(
      (error: Error) => {
        expect(error.message).toContain('is complete only since');
        return undefined;
      },
    );
    const after = await readSnapshot(this.service, this.tenant);
    if (done === undefined) {
      expect(since < (await this.readHistoryStart())).toBe(true);
      expect(after).toEqual(before);
      return;
    }
    const [filesBefore, filesAfter] = [stateFiles(before), stateFiles(after)];
    const touched = new Set(expected.map(({ memoryId }) => memoryId));
    for (const id of new Set([...filesBefore.keys(), ...filesAfter.keys()])) {
      if (!touched.has(id)) expect([id, filesAfter.get(id)]).toEqual([id, filesBefore.get(id)]);
    }
    for (const { memoryId, past, now, isMerged } of expected) {
      const reasons = done.conflicts.flatMap((each) => (each.memoryId === memoryId ? [each.reason] : []));
      const result = filesAfter.get(memoryId);
      if (reasons.length > 0) expect(result).toEqual(now);
      // test/history/revert-random.test.ts has a model for merges.
      else if (!isMerged) expect(result).toEqual(past);
      if (reasons.includes('redacted')) expect(this.model.redacted.size).toBeGreaterThan(0);
      if (reasons.includes('pruned'))
        expect(
          this.model.redacted.size > 0 || (await this.readHistoryStart()) > this.model.changeAt('').at,
        ).toBe(true);
    }
    for (const conflict of done.conflicts) {
      if (conflict.reason === 'occupied') expect(after.tree.has(conflict.at)).toBe(true);
    }
    this.expectRevertedDirectories(after, by, since);
    this.note(after, 'ada');
  }

  /**
   * Checks the directories after a revert: it deletes only those that the actor made and restores only those that the
   * actor removed or that a file needs.
   */
  expectRevertedDirectories(after: State, by: string, since: string): void {
    const [now, then] = [stateDirectories(this.model.now), stateDirectories(after)];
    const made = new Set<string>();
    const removed = new Set<string>();
    for (const [i, change] of this.model.changes.entries()) {
      if (i === 0 || change.actor !== by || change.at < since) continue;
      const [old, current] = [
        stateDirectories(this.model.changes[i - 1] ?? change),
        stateDirectories(change),
      ];
      for (const each of current) if (!old.includes(each)) made.add(each);
      for (const each of old) if (!current.includes(each)) removed.add(each);
    }
    expect(now.filter((each) => !then.includes(each) && !made.has(each))).toStrictEqual([]);
    const isNeeded = (directory: string) =>
      [...after.tree.keys()].some((each) => each.startsWith(`${directory}/`));
    expect(then.filter((each) => !now.includes(each) && !removed.has(each) && !isNeeded(each))).toStrictEqual(
      [],
    );
  }

  async log(): Promise<LogLine[]> {
    const { stdout, error } = await runCli(this.service, ['log', this.tenant, '--json']);
    expect(error).toBeUndefined();
    return stdout
      .toString()
      .split('\n')
      .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  }

  async redact(n: number): Promise<void> {
    const lines = await this.log();
    const chosen = lines[n % lines.length];
    if (chosen === undefined) return;
    const versions = this.model.versions();
    const keyed = new Map(versions.map((each) => [versionKey(each), each]));
    const findKeyed = ({ memory_id: memoryId, created_at: at }: LogLine) =>
      keyed.get(versionKey({ memoryId, at }));
    const { content } = findKeyed(chosen) ?? {};
    try {
      await eraseVersion(this.service.database, this.tenant, chosen.id, OPERATOR.origin);
    } catch (error) {
      expect(String(error)).toMatch(/ is live\.| a live file /);
      expect(stateFiles(this.model.now).get(chosen.memory_id)?.content).toBe(content);
      return;
    }
    const redacted = (await this.log()).filter((line) => line.redacted_at !== null);
    expect(redacted.map(({ id }) => id)).toContain(chosen.id);
    for (const line of redacted) {
      const version = findKeyed(line);
      if (version === undefined || this.model.redacted.has(versionKey(version))) continue;
      expect([line.memory_id, version.content]).toStrictEqual([chosen.memory_id, content]);
      this.model.redacted.add(versionKey(version));
      this.model.redactedPaths.add(version.path);
    }
  }

  async prune(before: string, maxHistoryBytes: number): Promise<void> {
    const now = new Date(Date.parse(before) + DAYS * DAY_MS);
    const since = await this.readHistoryStart();
    await pruneHistory(this.service.database, {
      historyDays: DAYS,
      maxHistoryBytes,
      tenant: this.tenant,
      now,
    });
    const later = await this.readHistoryStart();
    expect(later >= since).toBe(true);
    // While the history is off, pruning deletes the whole history.
    if (maxHistoryBytes === 0 && this.days > 0 && later > since) expect(later <= before).toBe(true);
    await this.checkLog();
  }

  /** Checks that the log contains each version in the model once, except pruned versions. */
  async checkLog(): Promise<void> {
    const since = await this.readHistoryStart();
    const lines = await this.log();
    const versions = new Map(this.model.versions().map((each) => [versionKey(each), each]));
    for (const line of lines) {
      const key = versionKey({ memoryId: line.memory_id, at: line.created_at });
      const version = versions.get(key);
      versions.delete(key);
      const isRedacted = this.model.redacted.has(key);
      const content = version?.content ?? null;
      const sha256 =
        content === null || isRedacted ? null : createHash('sha256').update(content).digest('hex');
      expect({
        ...line,
        who: line.actor.label ?? line.actor.name,
        isRedacted: line.redacted_at !== null,
      }).toMatchObject({
        operation: version?.operation,
        path: isRedacted ? null : version?.path,
        content_sha256: sha256,
        who: version?.actor,
        isRedacted,
      });
    }
    const missing = [...versions.values()].filter(
      ({ supersededAt }) => supersededAt === null || supersededAt > since,
    );
    expect(missing).toStrictEqual([]);
  }

  async look(at: string): Promise<void> {
    const { tree, ids } = this.model.changeAt(at);
    const redacted = this.model.redactedIds(at);
    const files = [...ids].filter(([, id]) => !redacted.has(id)).map(([each]) => each);
    // The memory is known to be empty before the tenant was created, even if its history was pruned.
    const isComplete = at >= (await this.readHistoryStart()) || at < (this.model.changes[0]?.at ?? '');
    const listed = await runCli(this.service, ['ls', this.tenant, '--at', at, '--json']);
    if (isComplete) {
      const rows = JSON.parse(listed.stdout.toString()) as {
        path: string;
        kind: string;
        bytes: number | null;
      }[];
      const found = rows.filter(({ kind }) => kind === 'file').map((row) => [row.path, row.bytes]);
      expect(found).toStrictEqual(
        files.sort().map((each) => [each, Buffer.byteLength(tree.get(each) ?? '')]),
      );
      this.expectDirectories(
        rows.flatMap((row) => (row.kind === 'dir' ? [row.path] : [])),
        stateDirectories({ tree, ids }),
      );
    } else {
      expect(listed.error).toContain('is complete only since');
    }
    for (const each of [...tree.keys()].slice(-3)) {
      const { error, stdout } = await runCli(this.service, ['cat', this.tenant, each, '--at', at]);
      if (error === undefined) expect(stdout.toString()).toBe(tree.get(each));
      else if (files.includes(each) && isComplete) expect([each, at, error]).toBe('shown');
    }
  }

  /** Checks the whole history, and its copy in another tenant after an export and an import. */
  async end(): Promise<void> {
    await this.checkLog();
    for (const { at } of this.model.changes.slice(-3)) await this.look(at);
    const { stdout: archive } = await runCli(this.service, ['export', this.tenant, '--history']);
    const copy = freshTenant('copy');
    await new Tenants(this.service.database).create(copy);
    const imported = await runCli(this.service, ['import', copy, '-'], { stdin: archive });
    expect(imported.error).toBeUndefined();
    const again = await runCli(this.service, ['export', copy, '--history']);
    expect(again.stdout.equals(archive)).toBe(true);
  }
}

function isEqual(a: State, b: State): boolean {
  const stateJson = ({ tree, ids }: State) => JSON.stringify([[...tree].sort(), [...ids].sort()]);
  return stateJson(a) === stateJson(b);
}

describeService(
  'random histories',
  (service, kind) => {
    const keys = new Map<string, string>();
    const taken = new Map<string, number>();

    beforeAll(async () => {
      for (const label of ACTORS) {
        const { key, hash, id } = newApiKey();
        const common = { tenant: null, access: 'read_write' as const, expiresAt: null };
        await new Keys(service().database).create({ hash, id, label, ...common });
        keys.set(label, key);
      }
    });
    afterAll(() =>
      console.log(`histories on ${kind}: ${[...taken].map(([what, n]) => `${n} ${what}`).join(', ')}`),
    );

    it('matches the reference model at each time in a random history', { tags: 'random' }, async () => {
      await fc.assert(
        fc.asyncProperty(script, async (steps) => {
          const world = new World(service(), keys);
          await world.begin();
          for (const each of steps) {
            await world.take(each);
            taken.set(each.kind, (taken.get(each.kind) ?? 0) + 1);
          }
          await world.end();
        }),
        fuzzParameters(RUNS[kind]),
      );
      await assertInvariants(service());
    });
  },
  { AUTH: 'keys' },
);
