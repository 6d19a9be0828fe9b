/** Simultaneous edits of one file: each builds on the previous one, and none is lost. */
import { expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { describeService, freshTenant, type Service, startService } from '../support/service.ts';
import { cmd } from '../support/table.ts';

const FILE = '/memories/f.md';

describeService('simultaneous edits of one file', (service) => {
  const all = (tenant: string, inputs: object[]) =>
    Promise.all(inputs.map((input) => service().execute(input, { tenant })));
  const text = async (tenant: string) => (await readTree(service(), tenant)).get(FILE);

  it('are all applied', async () => {
    const tenant = freshTenant('edit');
    await service().execute(cmd.create(FILE, 'first'), { tenant });
    const numbers = Array.from({ length: 400 }, (_, n) => n);
    const answers = await all(
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

  it('see the text of the edits before them', async () => {
    const tenant = freshTenant('edit');
    await service().execute(cmd.create(FILE, 'step 0'), { tenant });
    const steps = Array.from({ length: 20 }, (_, n) => cmd.replace(FILE, `step ${n}`, `step ${n + 1}`));
    const answers = await all(tenant, steps);
    // Each edit finds the text of the previous one, which was not in the file when the edit was sent.
    expect(answers.map(({ content }) => content)).toStrictEqual(
      steps.map(
        (_, n) =>
          `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tstep ${n + 1}`,
      ),
    );
    expect(await text(tenant)).toBe('step 20');
  });

  it('never build on an edit that failed', async () => {
    const tenant = freshTenant('edit');
    await service().execute(cmd.create(FILE, 'short'), { tenant });
    await service().query('UPDATE tenants SET max_bytes = 10 WHERE id = $1', [tenant]);
    const answers = await all(tenant, [
      cmd.replace(FILE, 'short', 'much too long'),
      cmd.replace(FILE, 'long', 'big'),
      cmd.replace(FILE, 'short', 'brief'),
    ]);
    expect(answers.map(({ content }) => content)).toStrictEqual([
      'Error: This memory is full: it has 5 bytes, 10 are allowed, and this needs 8 more. Delete or shorten files to make room.',
      'No replacement was performed, old_str `long` did not appear verbatim in /memories/f.md.',
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tbrief',
    ]);
    expect(await text(tenant)).toBe('brief');
    await assertInvariants(service());
  });

  it('apply an edit that was sent before only once', async () => {
    const tenant = freshTenant('edit');
    await service().execute(cmd.create(FILE, 'a'), { tenant });
    const keyed = (n: number) =>
      service().execute(cmd.insert(FILE, 0, `line ${n}`), {
        tenant,
        headers: { 'idempotency-key': `key-${n}` },
      });
    await keyed(3);
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => keyed(n)));
    expect(answers.map(({ is_error, headers }) => [is_error, headers['idempotency-replayed']])).toStrictEqual(
      answers.map((_, n) => [false, n === 3 ? 'true' : undefined]),
    );
    expect((await text(tenant))?.split('\n').sort()).toStrictEqual([
      'a',
      ...answers.map((_, n) => `line ${n}`),
    ]);
  });

  it('report a missing file when it is deleted in between', async () => {
    const tenant = freshTenant('edit');
    await service().execute(cmd.create(FILE, 'a'), { tenant });
    const inputs = [cmd.insert(FILE, 0, 'b'), cmd.delete(FILE), cmd.insert(FILE, 0, 'c')];
    const [edited, deleted, late] = await all(tenant, inputs);
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

it('applies all edits of a file that several replicas edit constantly', async () => {
  const database = await createTestDatabase();
  const replicas: Service[] = [];
  for (let n = 0; n < 3; n++) {
    replicas.push(await startService('postgres', { DATABASE_URL: database.url, DB_BATCH_SIZE: '1' }));
  }
  try {
    const tenant = freshTenant('edit');
    const on = (n: number) => replicas[n % 3] as Service;
    await on(0).execute(cmd.create(FILE, ''), { tenant });
    const numbers = Array.from({ length: 120 }, (_, n) => n);
    const answers = await Promise.all(
      numbers.map((n) => on(n).execute(cmd.insert(FILE, 0, `line ${n}`), { tenant })),
    );
    expect(answers.filter(({ is_error }) => is_error !== false)).toStrictEqual([]);
    const lines = (await readTree(on(0), tenant)).get(FILE)?.split('\n').sort();
    expect(lines).toStrictEqual(['', ...numbers.map((n) => `line ${n}`).sort()]);
  } finally {
    for (const replica of replicas) await replica.close();
    await database.drop();
  }
});
