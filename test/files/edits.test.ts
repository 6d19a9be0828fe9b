/**
 * Simultaneous edits to one file: each builds on the previous one, and none is lost.
 *
 * @module-tag long-on-pglite
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { Memory } from '../../src/core/files/memory.ts';
import { Services } from '../../src/core/files/services.ts';
import type { Edit, RequestKey } from '../../src/core/memory/memory-store.ts';
import type { MemoryPath } from '../../src/core/memory/path.ts';
import { createSecretScanner } from '../../src/features/secrets/scanner.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase, isCitus } from '../support/test-database.ts';
import { describeService, freshTenant, type Service, startService } from '../support/test-service.ts';

const FILE = '/memories/f.md';

describeService('simultaneous edits to one file', (service) => {
  const executeAll = (tenant: string, inputs: object[]) =>
    Promise.all(inputs.map((input) => service().execute(input, { tenant })));
  const text = async (tenant: string) => (await readTree(service(), tenant)).get(FILE);

  it('applies all simultaneous edits to one file', async () => {
    const tenant = freshTenant('edit');
    await service().execute(cmd.create(FILE, 'first'), { tenant });
    const numbers = Array.from({ length: 400 }, (_, n) => n);
    const answers = await executeAll(
      tenant,
      numbers.map((n) => cmd.insert(FILE, 0, `line ${n}`)),
    );
    expect(new Set(answers.map(({ content }) => content))).toStrictEqual(
      new Set(['The file /memories/f.md has been edited.']),
    );
    const lines = (await text(tenant))?.split('\n') ?? [];
    expect(lines.slice(0, -1).sort()).toStrictEqual(numbers.map((n) => `line ${n}`).sort());
    expect(lines.at(-1)).toBe('first');
    await assertInvariants(service());
  });

  // On Citus, each edit has its own statement, and edits wait for the tenant in no order.
  it.skipIf(isCitus())(
    'applies each simultaneous edit to the text that the previous edit produced',
    async () => {
      const tenant = freshTenant('edit');
      await service().execute(cmd.create(FILE, 'step 0'), { tenant });
      const steps = Array.from({ length: 20 }, (_, n) => cmd.replace(FILE, `step ${n}`, `step ${n + 1}`));
      const answers = await executeAll(tenant, steps);
      // Each edit finds the previous edit's text, which was not in the file when the edit was sent.
      expect(answers.map(({ content }) => content)).toStrictEqual(
        steps.map(
          (_, n) =>
            `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tstep ${n + 1}`,
        ),
      );
      expect(await text(tenant)).toBe('step 20');
    },
  );

  it('applies later edits to a file without the text from a failed edit', async () => {
    const tenant = freshTenant('edit');
    await service().execute(cmd.create(FILE, 'short'), { tenant });
    await service().query('UPDATE tenants SET max_bytes = 10 WHERE id = $1', [tenant]);
    const answers = await executeAll(tenant, [
      cmd.replace(FILE, 'short', 'much too long'),
      cmd.replace(FILE, 'long', 'big'),
      cmd.replace(FILE, 'short', 'brief'),
    ]);
    const full =
      'Error: This memory is full: it has 5 bytes, 10 are allowed, and this needs 8 more. Delete or shorten files to make room.';
    // On Citus, the third edit may be applied first, and the first one then finds no text to replace.
    const late = 'No replacement was performed, old_str `short` did not appear verbatim in /memories/f.md.';
    expect(answers.map(({ content }) => content)).toStrictEqual([
      isCitus() ? expect.toBeOneOf([full, late]) : full,
      'No replacement was performed, old_str `long` did not appear verbatim in /memories/f.md.',
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tbrief',
    ]);
    expect(await text(tenant)).toBe('brief');
    await assertInvariants(service());
  });

  it('applies a repeated edit only once among simultaneous edits', async () => {
    const tenant = freshTenant('edit');
    await service().execute(cmd.create(FILE, 'a'), { tenant });
    const insertWithKey = (n: number) =>
      service().execute(cmd.insert(FILE, 0, `line ${n}`), {
        tenant,
        headers: { 'idempotency-key': `key-${n}` },
      });
    await insertWithKey(3);
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => insertWithKey(n)));
    expect(answers.map(({ is_error, headers }) => [is_error, headers['idempotency-replayed']])).toStrictEqual(
      answers.map((_, n) => [false, n === 3 ? 'true' : undefined]),
    );
    expect((await text(tenant))?.split('\n').sort()).toStrictEqual([
      'a',
      ...answers.map((_, n) => `line ${n}`),
    ]);
  });

  it('applies an edit or reports a missing file if the file is deleted at the same time', async () => {
    const tenant = freshTenant('edit');
    await service().execute(cmd.create(FILE, 'a'), { tenant });
    const inputs = [cmd.insert(FILE, 0, 'b'), cmd.delete(FILE), cmd.insert(FILE, 0, 'c')];
    const [edited, deleted, late] = await executeAll(tenant, inputs);
    expect(deleted?.content).toBe('Successfully deleted /memories/f.md');
    for (const answer of [edited, late]) {
      expect(answer?.content).toMatch(
        /^(The file \/memories\/f\.md has been edited\.|Error: The path \/memories\/f\.md does not exist)$/,
      );
    }
    expect(await text(tenant)).toBeUndefined();
    await assertInvariants(service());
  });
});

it('applies all edits to one file that several replicas edit at the same time', async () => {
  const database = await createTestDatabase();
  const replicas: Service[] = [];
  for (let n = 0; n < 3; n++) {
    replicas.push(await startService('postgres', { DATABASE_URL: database.url, DB_BATCH_SIZE: '1' }));
  }
  try {
    const tenant = freshTenant('edit');
    const replicaAt = (n: number) => replicas[n % 3] as Service;
    await replicaAt(0).execute(cmd.create(FILE, ''), { tenant });
    const numbers = Array.from({ length: 120 }, (_, n) => n);
    const answers = await Promise.all(
      numbers.map((n) => replicaAt(n).execute(cmd.insert(FILE, 0, `line ${n}`), { tenant })),
    );
    expect(answers.filter(({ is_error }) => is_error !== false)).toStrictEqual([]);
    const lines = (await readTree(replicaAt(0), tenant)).get(FILE)?.split('\n').sort();
    expect(lines).toStrictEqual(['', ...numbers.map((n) => `line ${n}`).sort()]);
  } finally {
    for (const replica of replicas) await replica.close();
    await database.drop();
  }
});

// Distributed tables have no triggers.
describe.skipIf(isCitus())('an edit that follows three other edits', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let replica: Service;
  let other: Service;
  beforeAll(async () => {
    database = await createTestDatabase();
    replica = await startService('postgres', { DATABASE_URL: database.url });
    other = await startService('postgres', { DATABASE_URL: database.url });
    await replica.query(`
      CREATE TABLE faults (code text);
      CREATE FUNCTION raise_fault() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE code text;
      BEGIN
        FOR code IN SELECT f.code FROM faults AS f LOOP RAISE EXCEPTION 'injected' USING ERRCODE = code; END LOOP;
        RETURN NULL;
      END $$;
      CREATE TRIGGER raise_fault AFTER UPDATE ON entries EXECUTE FUNCTION raise_fault()`);
  });
  afterAll(async () => {
    await replica.close();
    await other.close();
    await database.drop();
  });

  /**
   * Edits a file that another replica always changes first, until the tenant is locked.
   *
   * @param locked called on each attempt with the tenant locked
   */
  async function edit(key: RequestKey | undefined, locked: (attempt: number) => Promise<unknown>) {
    const tenant = freshTenant('late');
    await other.execute(cmd.create(FILE, 'a'), { tenant });
    const services = new Services(loadConfig({}), replica.database, createSecretScanner());
    const origin = { actor: { type: 'anonymous' }, requestId: 'late' } as const;
    const memory = new Memory(services, tenant, { autoCreate: false, origin, request: key });
    let attempts = 0;
    const change = async (content: string): Promise<Edit<never>> => {
      attempts += 1;
      if (attempts <= 3) await other.execute(cmd.insert(FILE, 0, `${attempts}`), { tenant });
      else await locked(attempts - 3);
      const [start, end] = [content.length, content.length + 1];
      return { content: `${content}!`, start, end, result: { content: 'edited', isError: false } };
    };
    const [edited] = await Promise.allSettled([memory.edit('/memories/f.md' as MemoryPath, change)]);
    return { edited, locked: attempts - 3, text: (await readTree(other, tenant)).get(FILE) };
  }

  const fillDisk = () => other.query("INSERT INTO faults VALUES ('53100')");
  const freeDisk = () => other.query('DELETE FROM faults');
  const KEY = { keyHash: 'k', requestHash: 'r' };

  it.each([
    ['with an idempotency key, after three attempts', KEY, 3],
    ['without an idempotency key, after one attempt', undefined, 1],
  ])('reports the database error %s', async (_, key, attempts) => {
    const { edited, locked, text } = await edit(key, fillDisk);
    await freeDisk();
    expect(edited).toMatchObject({
      status: 'rejected',
      reason: { status: 503, code: 'database_unavailable', sqlState: '53100' },
    });
    expect([locked, text]).toStrictEqual([attempts, '3\n2\n1\na']);
  });

  it('applies an edit once if a second attempt succeeds after a database error', async () => {
    const { edited, locked, text } = await edit(KEY, (attempt) => (attempt === 1 ? fillDisk() : freeDisk()));
    expect(edited).toStrictEqual({
      status: 'fulfilled',
      value: {
        kind: 'edited',
        before: '3\n2\n1\na',
        content: '3\n2\n1\na!',
        result: { content: 'edited', isError: false },
      },
    });
    expect([locked, text]).toStrictEqual([2, '3\n2\n1\na!']);
  });
});
