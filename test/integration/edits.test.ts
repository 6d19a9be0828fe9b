/**
 * Edits are done in the database where that is plain, and here where their content has to be looked at. Both ways answer and
 * write the same.
 */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PostgresMemory } from '../../src/db/memory-store.ts';
import { plannerOptions } from '../../src/db/postgres.ts';
import { requestKey } from '../../src/db/receipts.ts';
import { insertIntoFilesStatement, replaceInFilesStatement } from '../../src/db/statements/edits.ts';
import { executeCommand } from '../../src/memory/commands/index.ts';
import { fuzzParameters } from '../support/arbitraries.ts';
import { createTestDatabase, openPool } from '../support/database.ts';
import { describeService, freshTenant } from '../support/service.ts';
import { cmd } from '../support/table.ts';

const FILE = '/memories/f.md';
const replace = (old: string, text: string) => cmd.replace(FILE, old, text);
const insert = (line: number, text: string) => cmd.insert(FILE, line, text);
const line = (length: number, of = 'x') => of.repeat(length);

/** Few different characters, so that things occur twice and lines are empty. */
const text = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r', 'é', '😀'), maxLength });

const CASES: [content: string, edit: object][] = [
  ['', replace('a', 'b')],
  ['a', replace('a', '')],
  ['a\nb\nc\nd\ne\nf\ng', replace('d', 'D')],
  ['a\nb\nc\nd\ne\nf\ng', replace('a', 'A')],
  ['a\nb\nc\nd\ne\nf\ng', replace('g', 'G\n')],
  ['a\nb\nc\nd\ne\nf\ng\n', replace('c\nd\ne', 'x')],
  ['a\nb\nc\nd\ne\nf\ng\n', replace('d', '1\n2\n3\n4\n5\n6')],
  ['a\nb\nc\nd\n', replace('d\n', '')],
  ['\n\n\n\nx\n\n\n\n', replace('x', 'y')],
  ['\n\n\n\nx\n\n\n\n', replace('x\n', '')],
  ['a\r\nb\r\nc\r\n', replace('b\r\n', 'ß\r\n')],
  ['one', replace('two', '2')],
  ['one one', replace('one', '1')],
  ['aaa', replace('aa', 'b')],
  ['aaaa', replace('aa', 'b')],
  ['😀 ñandú\n中文 😀😀\n', replace('ñandú', '🎉')],
  ['👩‍👩‍👧‍👦 before\nafter', replace('before', 'é')],
  ['{"a", NULL}\nNULL\n\\n %s $1 \'quoted\'', replace('\\n', '"\\\\"')],
  ['NULL', replace('NULL', 'null')],
  ...[1999, 2000, 2001].flatMap((length): typeof CASES => [
    [`here${line(length)}`, replace('here', 'there')],
    [`here\n\n${line(length - 2)}`, replace('here', 'there')],
    [`here\n\n\n${line(length - 3)}\n\n`, replace('here', 'there')],
    [`here\n${line(length / 2, 'é')}\n${line(length, '😀')}\n`, replace('here', 'there')],
  ]),
  [`${line(3000)}\n${line(3000, '中')}\nhere\n${line(3000)}`, replace('here', 'there')],
  [`${line(32_760)}\nhere`, replace('here', 'somewhere else, and longer')],
  [`${line(40_000)}\nhere`, replace('here', 'there')],
  [`${'l\n'.repeat(12_000)}here`, replace('here', 'there')],
  ['', insert(0, 'a')],
  ['', insert(1, 'a')],
  ['', insert(2, 'a')],
  ['\n', insert(1, 'a')],
  ['\n', insert(2, '')],
  ['a\nb\nc', insert(0, 'x')],
  ['a\nb\nc', insert(1, 'x\n')],
  ['a\nb\nc', insert(2, 'x\n\n')],
  ['a\nb\nc', insert(3, 'x\ny')],
  ['a\nb\nc', insert(4, 'x')],
  ['a\nb\nc', insert(-1, 'x')],
  ['a\nb\nc', insert(2 ** 33, 'x')],
  ['a\nb\nc\n', insert(4, 'x\n')],
  ['a\nb\nc\n', insert(2, '')],
  ['NULL\n\n"{}"', insert(2, '😀 NULL')],
];

describeService('an edit', (service) => {
  let memory: PostgresMemory;
  beforeAll(() => {
    memory = new PostgresMemory(service().database, { maxFiles: 0, maxBytes: 0 });
  });

  /** On a tenant of its own: the answer, and the file after it. */
  async function executed(
    content: string,
    edit: object,
    options: { inDatabase: boolean; maxFileBytes?: number },
  ) {
    const tenant = freshTenant('edit');
    const execute = (input: object, maxFileBytes = 0) =>
      executeCommand(input as Record<string, unknown>, {
        store: memory.forTenant(tenant, { autoCreate: true }),
        limits: { maxFileBytes, maxViewChars: 0 },
        access: 'read_write',
        // What looks for secrets has to be shown the content.
        redaction: options.inDatabase ? undefined : { mode: 'mask', scanner: { scan: async () => [] } },
        language: 'en',
      });
    await execute(cmd.create(FILE, content));
    return [await execute(edit, options.maxFileBytes), await execute(cmd.view(FILE))];
  }

  const bothWays = (content: string, edit: object, maxFileBytes = 0) =>
    Promise.all([
      executed(content, edit, { inDatabase: true, maxFileBytes }),
      executed(content, edit, { inDatabase: false, maxFileBytes }),
    ]);

  it.concurrent.each(CASES)('%# answers and writes the same wherever it is done', async (content, edit) => {
    const [there, here] = await bothWays(content, edit);
    expect(there).toStrictEqual(here);
  });

  it.each([3, 4, 5, 6, 7])(
    'may make a file of %i bytes or more smaller, not larger',
    async (maxFileBytes) => {
      for (const text of ['', 'abcd', 'abcdé', 'é'] as const) {
        const [there, here] = await bothWays('abcd', replace('abcd', text), maxFileBytes);
        expect(there).toStrictEqual(here);
      }
    },
  );

  it('of any text answers and writes the same wherever it is done', async () => {
    let successes = 0;
    await fc.assert(
      fc.asyncProperty(
        text(30),
        text(6),
        fc.nat(30),
        fc.nat(8),
        fc.boolean(),
        async (content, put, at, n, replaces) => {
          const old = content.slice(at, at + 1 + n).toWellFormed() || 'a';
          const [there, here] = await bothWays(content, replaces ? replace(old, put) : insert(n, put));
          if (there[0]?.isError === false) successes++;
          expect(there).toStrictEqual(here);
        },
      ),
      fuzzParameters(320),
    );
    expect(successes).toBeGreaterThan(25);
  });

  it('under an idempotency key is done once, and its snippet answered again', async () => {
    const tenant = freshTenant('edit');
    const send = (input: object, key: string) =>
      service().execute(input, { tenant, headers: { 'idempotency-key': key } });
    await send(cmd.create(FILE, 'a\nb\nc\nd'), 'create');
    const snippet =
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\ta\n     2\tbb\n     3\tc\n     4\td';
    for (const replayed of [undefined, 'true']) {
      const answer = await send(replace('b', 'bb'), 'edit');
      expect([answer.content, answer.headers['idempotency-replayed']]).toStrictEqual([snippet, replayed]);
    }
    const { keyHash } = requestKey('edit', replace('b', 'bb'));
    expect(
      await service().query('SELECT content FROM idempotency_keys WHERE tenant_id = $1 AND key_hash = $2', [
        tenant,
        keyHash,
      ]),
    ).toStrictEqual([{ content: snippet }]);
  });
});

describe('an edit in the database', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let pool: pg.Pool;
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = openPool(database.url, { options: plannerOptions });
    await pool.query("INSERT INTO tenants (id) VALUES ('t')");
    await pool.query("INSERT INTO entries (tenant_id, path, kind) VALUES ('t', '/memories', 'dir')");
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  it.each([
    ['/memories/a', replaceInFilesStatement, { oldStr: 'two', newStr: 'TWO' }, 'zero\none\nTWO'],
    ['/memories/b', insertIntoFilesStatement, { line: 1, text: 'half' }, 'zero\nhalf\none\ntwo'],
  ])(
    'is one of the content that another edit left meanwhile: %s',
    async (path, statement, edit, expected) => {
      await pool.query(
        `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version)
       VALUES ('t', $1, '/memories', 'file', $2, gen_random_uuid())`,
        [path, 'one\ntwo'],
      );
      const params: Record<string, unknown> = {
        ...{ tenant: 't', path, version: randomUUID(), reply: '', maxFileBytes: 0, maxBytes: 0, ...edit },
      };
      const values = statement.parameters.map((name) => [params[name] ?? null]);
      // It sees the file as it is at its start, and comes to lock it when this session lets it.
      const gated = statement.sql.replace(
        'FROM unnest(',
        'FROM (SELECT pg_advisory_xact_lock(1)) AS gate, unnest(',
      );
      const other = await pool.connect();
      try {
        await other.query('SELECT pg_advisory_lock(1)');
        const editing = pool.query(gated, values);
        const waiting = 'SELECT 1 FROM pg_locks WHERE locktype = $1 AND NOT granted';
        while ((await other.query(waiting, ['advisory'])).rows.length === 0);
        await other.query("UPDATE entries SET content = 'zero\n' || content WHERE path = $1", [path]);
        await other.query('SELECT pg_advisory_unlock(1)');
        expect((await editing).rows.map(({ item }) => item)).toStrictEqual([1]);
      } finally {
        other.release(true);
      }
      const { rows } = await pool.query('SELECT content FROM entries WHERE path = $1', [path]);
      expect(rows).toStrictEqual([{ content: expected }]);
    },
  );
});
