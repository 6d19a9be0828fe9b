/** Races between two service replicas on one real Postgres database. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fuzzParameters } from '../support/arbitraries.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { freshTenant, type Service, type ServiceResponse, startService } from '../support/test-service.ts';

const ROUNDS = fuzzParameters(20).numRuns;

describe('two replicas on one database', { tags: 'random' }, () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let replicas: Service[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    const start = () => startService('postgres', { DATABASE_URL: database.url });
    replicas = [await start(), await start()];
  });
  afterAll(async () => {
    for (const replica of replicas) await replica.close();
    await database?.drop();
  });

  function replica(n: number): Service {
    const chosen = replicas[n % replicas.length];
    if (!chosen) throw new Error('the replicas are started in beforeAll');
    return chosen;
  }

  async function executeOn(tenant: string, input: object, n = 0): Promise<ServiceResponse> {
    const answer = await replica(n).execute(input, { tenant });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer;
  }

  /** Runs all inputs simultaneously, alternating between the replicas. */
  function race(tenant: string, inputs: object[]): Promise<ServiceResponse[]> {
    return Promise.all(inputs.map((input, n) => executeOn(tenant, input, n)));
  }

  const contents = (answers: ServiceResponse[]) => answers.map(({ content }) => content).sort();
  const successes = (answers: ServiceResponse[]) => answers.filter(({ is_error }) => !is_error);
  const create = (path: string, file_text = '') => ({ command: 'create', path, file_text });
  const rename = (old_path: string, new_path: string) => ({ command: 'rename', old_path, new_path });
  const remove = (path: string) => ({ command: 'delete', path });

  /** Repeats a race in a new tenant each time. `verify` receives the results and the final tree. */
  async function rounds(
    before: object[],
    inputs: object[],
    verify: (answers: ServiceResponse[], tree: ReadonlyMap<string, string | null>) => void,
  ): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const tenant = freshTenant('race');
      for (const input of before) expect((await executeOn(tenant, input)).is_error).toBe(false);
      const answers = await race(tenant, inputs);
      verify(answers, await readTree(replica(0), tenant));
    }
    await assertInvariants(replica(0));
  }

  it('accepts only one create when several requests create the same path', async () => {
    const inputs = Array.from({ length: 8 }, (_, n) => create('/memories/x/y/f', `text ${n}`));
    await rounds([], inputs, (answers, tree) => {
      const winner = answers.findIndex(({ is_error }) => !is_error);
      expect(contents(answers)).toEqual([
        ...Array(7).fill('Error: File /memories/x/y/f already exists'),
        'File created successfully at: /memories/x/y/f',
      ]);
      expect(tree.get('/memories/x/y/f')).toBe(`text ${winner}`);
    });
  });

  it('creates several files below the same new directories at the same time', async () => {
    const inputs = Array.from({ length: 8 }, (_, n) => create(`/memories/x/y/f${n}`));
    await rounds([], inputs, (answers, tree) => {
      expect(successes(answers)).toHaveLength(8);
      expect(tree.size).toBe(3 + 8);
    });
  });

  it('accepts either a file at a path or a file below the same path, but not both', async () => {
    await rounds([], [create('/memories/x'), create('/memories/x/y')], (answers, tree) => {
      expect(successes(answers)).toHaveLength(1);
      expect([...tree]).toContainEqual(answers[0]?.is_error ? ['/memories/x', null] : ['/memories/x', '']);
      expect(answers.find(({ is_error }) => is_error)?.content).toBe(
        answers[0]?.is_error
          ? 'Error: File /memories/x already exists'
          : 'Error: /memories/x is not a directory',
      );
    });
  });

  it('creates files below a directory that is being deleted', async () => {
    const before = [create('/memories/d/e/old')];
    const inputs = [create('/memories/d/e/new'), remove('/memories/d'), create('/memories/d/other')];
    await rounds(before, inputs, (answers, tree) => {
      expect(contents(answers)).toEqual([
        'File created successfully at: /memories/d/e/new',
        'File created successfully at: /memories/d/other',
        'Successfully deleted /memories/d',
      ]);
      expect(tree.has('/memories/d/e/old')).toBe(false);
    });
  });

  it('creates files below a directory that is being renamed', async () => {
    const before = [create('/memories/d/e/old')];
    const inputs = [
      create('/memories/d/e/new'),
      rename('/memories/d', '/memories/z/d'),
      create('/memories/d/f'),
    ];
    await rounds(before, inputs, (answers, tree) => {
      expect(successes(answers)).toHaveLength(3);
      expect(tree.has('/memories/z/d/e/old')).toBe(true);
      for (const name of ['e/new', 'f']) {
        // The file was created before the rename and moved with it, or after the rename at the old path.
        expect(
          [tree.has(`/memories/d/${name}`), tree.has(`/memories/z/d/${name}`)].filter(Boolean),
        ).toHaveLength(1);
      }
    });
  });

  it('accepts only one rename when two requests rename the same source', async () => {
    const inputs = [rename('/memories/d', '/memories/p/d'), rename('/memories/d', '/memories/q/d')];
    await rounds([create('/memories/d/f')], inputs, (answers, tree) => {
      expect(contents(answers)[0]).toBe('Error: The path /memories/d does not exist');
      expect(successes(answers)).toHaveLength(1);
      const to = answers[0]?.is_error ? 'q' : 'p';
      expect([...tree.keys()].sort()).toEqual(
        ['/memories', `/memories/${to}`, `/memories/${to}/d`, `/memories/${to}/d/f`].sort(),
      );
    });
  });

  it('accepts only one rename when two requests use the same destination', async () => {
    const before = [create('/memories/a', 'a'), create('/memories/b', 'b')];
    const inputs = [rename('/memories/a', '/memories/c/x'), rename('/memories/b', '/memories/c/x')];
    await rounds(before, inputs, (answers, tree) => {
      expect(contents(answers)[0]).toBe('Error: The destination /memories/c/x already exists');
      expect(successes(answers)).toHaveLength(1);
      const [won, lost] = answers[0]?.is_error ? ['b', 'a'] : ['a', 'b'];
      expect(tree.get('/memories/c/x')).toBe(won);
      expect(tree.get(`/memories/${lost}`)).toBe(lost);
    });
  });

  it('creates no cycle when two requests move two directories into each other', async () => {
    const before = [create('/memories/a/f', 'a'), create('/memories/b/f', 'b')];
    const inputs = [rename('/memories/a', '/memories/b/a'), rename('/memories/b', '/memories/a/b')];
    await rounds(before, inputs, (answers, tree) => {
      // The second rename finds no parent for its destination and creates the parent again, so neither directory
      // contains itself.
      expect(successes(answers)).toHaveLength(2);
      const one = { '/memories/a/b/f': 'b', '/memories/a/b/a/f': 'a' };
      const other = { '/memories/b/a/f': 'a', '/memories/b/a/b/f': 'b' };
      const files = Object.fromEntries([...tree].filter(([, content]) => content !== null));
      expect([one, other]).toContainEqual(files);
    });
  });

  it('keeps both files when renames swap their paths through a third path', async () => {
    const before = [create('/memories/a', 'a'), create('/memories/b', 'b')];
    const inputs = [
      rename('/memories/a', '/memories/t'),
      rename('/memories/b', '/memories/a'),
      rename('/memories/t', '/memories/b'),
    ];
    await rounds(before, inputs, (_, tree) => {
      expect([...tree.values()].filter((content) => content !== null).sort()).toEqual(['a', 'b']);
    });
  });

  it('accepts only one delete when several requests delete the same path', async () => {
    const inputs = Array.from({ length: 6 }, () => remove('/memories/d'));
    await rounds([create('/memories/d/e/f'), create('/memories/d/g')], inputs, (answers, tree) => {
      expect(contents(answers)).toEqual([
        ...Array(5).fill('Error: The path /memories/d does not exist'),
        'Successfully deleted /memories/d',
      ]);
      expect([...tree.keys()]).toEqual(['/memories']);
    });
  });

  it('deletes a directory while other requests delete its contents', async () => {
    const inputs = [remove('/memories/d/e/f'), remove('/memories/d'), remove('/memories/d/e')];
    await rounds([create('/memories/d/e/f')], inputs, (answers, tree) => {
      expect(answers[1]?.content).toBe('Successfully deleted /memories/d');
      expect([...tree.keys()]).toEqual(['/memories']);
    });
  });

  it('edits a file while other requests rename, delete, and create it', async () => {
    const inputs = [
      { command: 'str_replace', path: '/memories/f', old_str: 'one', new_str: 'two' },
      rename('/memories/f', '/memories/g'),
      { command: 'insert', path: '/memories/f', insert_line: 0, insert_text: 'line' },
      create('/memories/f', 'one again'),
      remove('/memories/g'),
    ];
    await rounds([create('/memories/f', 'one')], inputs, (answers) => {
      expect(answers[1]?.content).toMatch(
        /^(Successfully renamed \/memories\/f to \/memories\/g|Error: The path \/memories\/f does not exist)$/,
      );
    });
  });

  it('applies 200 replacements and 200 insertions to one file in parallel', async () => {
    const tenant = freshTenant('edits');
    const numbers = Array.from({ length: 200 }, (_, n) => n);
    await executeOn(tenant, create('/memories/log', numbers.map((n) => `<todo ${n}>`).join('\n')));
    const answers = await race(
      tenant,
      numbers.flatMap((n) => [
        { command: 'str_replace', path: '/memories/log', old_str: `<todo ${n}>`, new_str: `<done ${n}>` },
        { command: 'insert', path: '/memories/log', insert_line: n % 7, insert_text: `<new ${n}>\n` },
      ]),
    );
    expect(answers.filter(({ is_error }) => is_error)).toEqual([]);
    const lines = (await readTree(replica(0), tenant)).get('/memories/log')?.split('\n') ?? [];
    // Replaced lines keep their order, with inserted lines between them.
    expect(lines.filter((line) => line.startsWith('<done'))).toEqual(numbers.map((n) => `<done ${n}>`));
    expect(lines.filter((line) => !line.startsWith('<done')).sort()).toEqual(
      numbers.map((n) => `<new ${n}>`).sort(),
    );
    await assertInvariants(replica(0));
  });

  it('counts files and bytes exactly during all kinds of writes', async () => {
    const tenant = freshTenant('count');
    const inputs = Array.from({ length: 300 }, (_, n) => {
      const path = `/memories/d${n % 3}/f${n % 11}`;
      const choices = [
        create(path, `some text ${n}\n`),
        { command: 'insert', path, insert_line: 0, insert_text: `line ${n}` },
        rename(path, `/memories/d${(n + 1) % 3}/f${(n * 7) % 11}`),
        create(path, ''),
        remove(n % 13 === 0 ? `/memories/d${n % 3}` : path),
      ];
      return choices[n % choices.length] ?? remove(path);
    });
    await race(tenant, inputs);
    await assertInvariants(replica(0));
  });

  it('creates files for many tenants at the same time, each in the correct tenant', async () => {
    const tenants = Array.from({ length: 20 }, () => freshTenant('many'));
    const answers = await Promise.all(
      tenants.flatMap((tenant, n) =>
        Array.from({ length: 5 }, (_, i) => executeOn(tenant, create(`/memories/f${i}`, tenant), n + i)),
      ),
    );
    expect(successes(answers)).toHaveLength(100);
    for (const tenant of tenants) {
      const tree = await readTree(replica(1), tenant);
      expect([...tree.values()]).toEqual([null, ...Array(5).fill(tenant)]);
    }
    await assertInvariants(replica(0));
  });
});
