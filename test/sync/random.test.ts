/**
 * Random histories of two devices and an agent, compared with a model.
 *
 * @module-tag long-on-pglite
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Caller } from '../../src/core/cli/caller.ts';
import { loadConfig } from '../../src/core/config.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { listHashes } from '../../src/features/sync/hash-operation.ts';
import { localCaller } from '../../src/service/local-caller.ts';
import { CollectedOutput } from '../support/collected-output.ts';
import { assertInvariants } from '../support/invariants.ts';
import { createRandom, type Random } from '../support/random.ts';
import { Agent, Device, type Editor, type FileContents, type Intercept } from '../support/sync-device.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';

/** Tests with 50 histories each in the long set, so that each test ends within its time limit. */
const [TESTS, HISTORIES] = process.env.TEST_SET === 'long' ? [4, 50] : [1, 2];
const numbers = Array.from({ length: TESTS }, (_, i) => i + 1);
const STEPS = 25;
/** Synchronizations after which all sides are equal, if nothing changes meanwhile. */
const FINAL_ROUNDS = 3;

class Killed extends Error {}

/**
 * Lines that users and agents wrote. A line is live until somebody who sees it replaces or deletes it. No live line may
 * be lost.
 */
class Lines {
  readonly live = new Set<string>();
  #next = 1;

  create(): string {
    const line = `t${this.#next++};`;
    this.live.add(line);
    return line;
  }

  replace(before: string, after: string): void {
    for (const line of before.match(/t\d+;/g) ?? []) if (!after.includes(line)) this.live.delete(line);
  }
}

/** Applies a random change, and returns the files after it. */
async function change(editor: Editor, lines: Lines, random: Random): Promise<FileContents> {
  const files = await editor.files();
  const freePath = () => {
    for (;;) {
      const path = [...(random.below(2) === 0 ? [`d${random.below(2)}`] : []), `f${random.below(6)}.md`].join(
        '/',
      );
      if (files[path] === undefined) return path;
    }
  };
  const newText = () =>
    ['-- 1 --', '-- 2 --', '-- 3 --'].map((line) => `${lines.create()}\n${line}\n`).join('');
  const names = Object.keys(files);
  const name = random.of(names);
  const kind = random.below(12);
  if (name === undefined || (kind < 2 && names.length < 10)) {
    const path = freePath();
    files[path] = newText();
    await editor.put(path, files[path]);
    return files;
  }
  const before = files[name] ?? '';
  if (kind < 8) {
    // Mostly changes one line, sometimes all.
    const found = before.match(/t\d+;/g) ?? [];
    const line = random.of(found);
    const after = kind === 7 || line === undefined ? newText() : before.replace(line, lines.create());
    lines.replace(before, after);
    files[name] = after;
    await editor.put(name, after);
  } else if (kind < 10 && names.length < 10) {
    const path = freePath();
    delete files[name];
    files[path] = before;
    await editor.rename(name, path);
  } else {
    lines.replace(before, '');
    delete files[name];
    await editor.delete(name);
  }
  return files;
}

/** Returns a caller that lists few files on a page, and runs `onPage` before each page. */
function listInPages(caller: Caller, onPage: () => Promise<unknown>): Caller {
  const call = async (operation: { id: string }, input: { query?: object }) => {
    const isList = operation.id === listHashes.id;
    if (isList) await onPage();
    const paged = isList ? { ...input, query: { ...input.query, limit: 3 } } : input;
    return caller.call(operation as typeof listHashes, paged as object);
  };
  return { ...caller, call: call as unknown as Caller['call'] };
}

describeServiceOnOwnDatabase('random synchronizations', (service) => {
  let root: string;
  let caller: Caller;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'sync-'));
    const database = { ...service().database, close: async () => {} };
    const open = async () => ({ config: loadConfig({ AUTH: 'none' }), database });
    const io = { stdin: Readable.from([]), stdout: new CollectedOutput(), stderr: new CollectedOutput() };
    caller = await localCaller(open, io)();
  });
  afterAll(async () => {
    await caller.close();
    await rm(root, { recursive: true, force: true });
    await assertInvariants(service());
  });

  async function start() {
    const tenant = freshTenant('sync-random');
    await new Tenants(service().database).create(tenant);
    const directory = join(root, tenant);
    const devices = ['laptop', 'phone'].map((name) => new Device(join(directory, name), name));
    return { tenant, directory, devices, agent: new Agent(service(), tenant) };
  }
  /** The variable TEST_SEED begins other histories than the usual ones. */
  const createSeed = (test: number, history: number) =>
    Number(process.env.TEST_SEED ?? 0) + 1000 * test + history;

  it.each(numbers)(
    'keeps each line that nobody deleted, also if syncs are killed (%i)',
    { tags: ['random'] },
    async (test) => {
      const seen = { kills: 0, meanwhile: 0, merges: 0, renames: 0, copies: 0 };
      for (let history = 0; history < HISTORIES; history++) {
        const number = createSeed(test, history);
        const seed = `seed ${number}`;
        const random = createRandom(number);
        const { tenant, directory, devices, agent } = await start();
        const lines = new Lines();
        const editors: Editor[] = [...devices, agent];
        /** Changes files before random calls, and kills the synchronization at a random call. */
        const disturb = (): Intercept => {
          let callsLeft = random.below(2) === 0 ? random.below(80) : Infinity;
          const changesOften = random.below(2) === 0;
          const isKilledAfterCall = random.below(2) === 0;
          const disturbCall = async <T>(call: () => T | Promise<T>): Promise<T> => {
            if (callsLeft < 0) throw new Killed();
            if (changesOften && random.below(8) === 0) {
              seen.meanwhile++;
              await change(random.of(editors), lines, random);
            }
            if (callsLeft-- > 0) return call();
            if (isKilledAfterCall) await call();
            throw new Killed();
          };
          // Concurrent calls wait for each other, so that none continues after the synchronization was killed.
          let last: Promise<unknown> = Promise.resolve();
          return (call) => {
            const next = last.then(() => disturbCall(call));
            last = next.catch(() => {});
            return next;
          };
        };
        const sync = async (device: Device, intercept?: Intercept) => {
          const isDisturbed = intercept !== undefined && random.below(3) === 0;
          const changeAgain = async () => {
            if (isDisturbed && random.below(4) === 0) await change(agent, lines, random);
          };
          const paged = listInPages(caller, changeAgain);
          const { changes, ...result } = await device.sync(paged, tenant, intercept);
          for (const { action } of changes) {
            if (action === 'merge') seen.merges++;
            if (action === 'rename') seen.renames++;
            if (action === 'copy') seen.copies++;
          }
          return result;
        };
        for (let step = 0; step < STEPS; step++) {
          if (random.below(4) > 0) {
            await change(random.of(editors), lines, random);
            continue;
          }
          await sync(random.of(devices), disturb()).catch((error) => {
            if (!(error instanceof Killed)) throw new Error(seed, { cause: error });
            seen.kills++;
          });
        }
        for (let round = 0; round < FINAL_ROUNDS; round++) {
          for (const device of devices)
            expect(await sync(device), seed).toMatchObject({ unfinished: [], rejected: new Map() });
        }
        const files = await agent.files();
        for (const device of devices) expect(await device.files(), seed).toStrictEqual(files);
        const text = Object.values(files).join('');
        expect(
          [...lines.live].filter((line) => !text.includes(line)),
          seed,
        ).toStrictEqual([]);
        await rm(directory, { recursive: true });
      }
      if (process.env.TEST_SET !== 'long') return;
      for (const [what, times] of Object.entries(seen))
        expect(times, `${what} of ${JSON.stringify(seen)}`).toBeGreaterThan(0);
    },
  );

  it('shows the last change on all sides, without conflicts, if each change is synchronized', {
    tags: ['random'],
  }, async () => {
    for (let history = 0; history < HISTORIES / 3; history++) {
      const number = createSeed(0, history);
      const random = createRandom(number);
      const { tenant, directory, devices, agent } = await start();
      const lines = new Lines();
      for (let step = 0; step < STEPS / 2; step++) {
        const expected = await change(random.of([...devices, agent]), lines, random);
        for (const device of [...devices, ...devices]) {
          const { changes } = await device.sync(caller, tenant);
          expect(
            changes.filter(({ side, action }) => side === 'conflict' || action === 'merge'),
          ).toStrictEqual([]);
        }
        for (const editor of [...devices, agent])
          expect(await editor.files(), `seed ${number}`).toStrictEqual(expected);
      }
      await rm(directory, { recursive: true });
    }
  });
});
