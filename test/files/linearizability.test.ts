/**
 * Records many small concurrent histories, and searches a sequential order of the calls on the model for each. In such
 * an order, a call that ended before another began comes first, every call returns its observed result, and the last
 * tree is the tree in the database.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fuzzParameters } from '../support/arbitraries.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { type Call, linearize } from '../support/linearizability.ts';
import type { Tree } from '../support/model.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { freshTenant, type Service, startService, startSharedService } from '../support/test-service.ts';

// Few names, and one file that most commands use, so that they conflict often.
const hot = { weight: 6, arbitrary: fc.constant('/memories/d/f') };
const cold = {
  weight: 5,
  arbitrary: fc.constantFrom('/memories/d', '/memories/d', '/memories/d/g/h', '/memories/e', '/memories/e/f'),
};
const path = fc.oneof(hot, cold);
const command = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      command: fc.constant('create'),
      path,
      file_text: fc.constantFrom('one', 'one\ntwo', ''),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ command: fc.constant('view'), path: fc.oneof(path, fc.constant('/memories')) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      command: fc.constant('str_replace'),
      path,
      old_str: fc.constantFrom('one', 'two', 'e'),
      new_str: fc.constantFrom('one', 'two', 'three', ''),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      command: fc.constant('insert'),
      path,
      insert_line: fc.nat(1),
      insert_text: fc.constantFrom('one', 'new', 'line'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ command: fc.constant('delete'), path }) },
  { weight: 2, arbitrary: fc.record({ command: fc.constant('rename'), old_path: path, new_path: path }) },
);
// Commands from three clients, each run in sequence, on a tenant with one file.
const plan = fc.array(fc.array(command, { minLength: 3, maxLength: 4, size: 'max' }), {
  minLength: 3,
  maxLength: 3,
});
const first = { command: 'create', path: '/memories/d/f', file_text: 'one\ntwo' };

/** Runs a plan's clients in parallel, each on a replica, and records their calls. */
async function record(replicas: Service[], tenant: string, clients: object[][]): Promise<Call[]> {
  const history: Call[] = [];
  let clock = 0;
  const runInSequence = async (inputs: object[], client: number) => {
    for (const input of inputs) {
      const invoked = clock++;
      const answer = await (replicas[client % replicas.length] as Service).execute(input, { tenant });
      const { status, content, is_error } = answer;
      expect(status, JSON.stringify(answer.body)).toBe(200);
      history.push({ input, result: { content, is_error }, invoked, responded: clock++ });
    }
  };
  await runInSequence([first], 0);
  await Promise.all(clients.map(runInSequence));
  return history;
}

describe.each(['postgres', 'pglite'] as const)('random concurrent histories, on %s', (kind) => {
  // Two replicas on Postgres and one on PGlite.
  let replicas: Service[] = [];
  let database: { url: string; drop(): Promise<void> } | undefined;
  let histories = 0;
  let calls = 0;

  beforeAll(async () => {
    if (kind === 'postgres') database = await createTestDatabase();
    const env = database ? { DATABASE_URL: database.url } : undefined;
    replicas = [await (env ? startService(kind, env) : startSharedService(kind))];
    if (env) replicas.push(await startService(kind, env));
  });
  afterAll(async () => {
    console.log(`linearizability on ${kind}: ${histories} histories of ${calls} calls, all explained`);
    for (const replica of replicas) await replica.close();
    await database?.drop();
  });

  it('returns the results that some sequential order would produce for concurrent calls', {
    tags: 'random',
  }, async () => {
    const { seed, numRuns } = fuzzParameters(kind === 'postgres' ? 300 : 60);
    const plans = fc.sample(plan, { seed, numRuns });
    const observer = replicas[0] as Service;
    const observe = async (clients: object[][]): Promise<{ history: Call[]; final: Tree }> => {
      const tenant = freshTenant('history');
      return { history: await record(replicas, tenant, clients), final: await readTree(observer, tenant) };
    };
    // Several tenants at a time, so that histories also interfere with each other.
    for (let n = 0; n < plans.length; n += 5) {
      for (const { history, final } of await Promise.all(plans.slice(n, n + 5).map(observe))) {
        if (!linearize(history, final)) {
          expect.fail(`no order explains ${JSON.stringify({ history, final: [...final] }, null, 1)}`);
        }
        histories += 1;
        calls += history.length;
      }
    }
    await assertInvariants(observer);
  });
});

describe('the search for a sequential order', () => {
  const created = { content: 'File created successfully at: /memories/f', is_error: false };
  const create = { command: 'create', path: '/memories/f', file_text: 'x' };
  const view = { command: 'view', path: '/memories/f' };
  const missing = {
    content: 'The path /memories/f does not exist. Please provide a valid path.',
    is_error: true,
  };
  const shown = {
    content: "Here's the content of /memories/f with line numbers:\n     1\tx",
    is_error: false,
  };
  const final: Tree = new Map([
    ['/memories', null],
    ['/memories/f', 'x'],
  ]);

  it('finds an order for overlapping calls that explains the results', () => {
    const history = [
      { input: view, result: shown, invoked: 0, responded: 3 },
      { input: create, result: created, invoked: 1, responded: 2 },
    ];
    expect(linearize(history, final)?.map(({ input }) => input)).toEqual([create, view]);
  });

  it('rejects two successful creates for one path', () => {
    const history = [
      { input: create, result: created, invoked: 0, responded: 3 },
      { input: create, result: created, invoked: 1, responded: 2 },
    ];
    expect(linearize(history)).toBeUndefined();
  });

  it('rejects a read that misses a completed write', () => {
    const history = [
      { input: create, result: created, invoked: 0, responded: 1 },
      { input: view, result: missing, invoked: 2, responded: 3 },
    ];
    expect(linearize(history)).toBeUndefined();
    const overlapping = history.map((call) => ({ ...call, invoked: 0, responded: 9 }));
    expect(linearize(overlapping)?.map(({ input }) => input)).toEqual([view, create]);
  });

  it('rejects a history with a lost update that only the final tree shows', () => {
    const edit = (old_str: string, new_str: string, line: string): Call => ({
      input: { command: 'str_replace', path: '/memories/f', old_str, new_str },
      result: {
        content: `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\t${line}`,
        is_error: false,
      },
      invoked: 2,
      responded: 5,
    });
    const history = [
      { input: { ...create, file_text: 'ab' }, result: created, invoked: 0, responded: 1 },
      edit('a', '1', '1b'),
      edit('b', '2', '12'),
    ];
    expect(linearize(history, new Map(final).set('/memories/f', '12'))).toBeDefined();
    expect(linearize(history, new Map(final).set('/memories/f', '1b'))).toBeUndefined();
  });
});
