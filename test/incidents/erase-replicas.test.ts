/**
 * An erasure that keeps its text out, while agents write the text on two replicas.
 *
 * @module-tag long
 */
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { eraseJobs } from '../../src/features/incidents/erase-job.ts';
import { JobRunner } from '../../src/features/incidents/runner.ts';
import { openAdmin } from '../support/admin.ts';
import { createTestDatabase } from '../support/database.ts';
import { encodingsOf, foundInTables } from '../support/encodings.ts';
import { type Service, startService } from '../support/service.ts';
import { cmd } from '../support/table.ts';

const TEXT = 'Ana lives at 12 Elm Street';
const TENANTS = ['acme', 'globex', 'initech'];

it('erases all files that agents write on two replicas with earlier lists', async () => {
  const created = await createTestDatabase();
  const env = { DATABASE_URL: created.url };
  const [first, second] = [await startService('postgres', env), await startService('postgres', env)];
  const admin = await openAdmin(first);
  const kind = eraseJobs(first.database, loadConfig({ DB_STATEMENT_TIMEOUT_MS: '2s' }));
  onTestFinished(async () => {
    await Promise.all([kind.close?.(), admin.app.close(), first.close(), second.close()]);
    await created.drop();
  });
  const stop = new AbortController();
  let written = 0;
  const agent = async (replica: Service, tenant: string, name: string) => {
    for (let i = 0; !stop.signal.aborted; i++) {
      const path = `/memories/${name}-${i}.md`;
      const { is_error } = await replica.execute(cmd.create(path, `so ${TEXT} now\n`), { tenant });
      if (!is_error) written++;
      await replica.execute(cmd.create(path, 'other\n'), { tenant });
    }
  };
  const agents = TENANTS.flatMap((tenant) => [agent(first, tenant, 'a'), agent(second, tenant, 'b')]);
  await expect.poll(() => written).toBeGreaterThan(TENANTS.length);
  const body = { text: TEXT, keep_out: true, dry_run: false };
  const { id } = (await admin.call('POST', '/erase', { body })).body;
  const before = written;
  await new JobRunner(first.database, [kind], (_, error) => {
    throw error;
  }).run();
  const job = (await admin.call('GET', `/jobs/${id}`)).body;
  expect(job).toMatchObject({ state: 'done', is_exact: true });
  // Agents went on with their earlier lists.
  expect(written).toBeGreaterThan(before);
  expect(await foundInTables(first, encodingsOf(TEXT))).toStrictEqual([]);
  stop.abort();
  await Promise.all(agents);
  expect(await foundInTables(first, encodingsOf(TEXT))).toStrictEqual([]);
});
