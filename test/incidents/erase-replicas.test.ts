/**
 * An erasure that keeps its text out, while agents write the text on two replicas.
 *
 * @module-tag long
 */
import { expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { eraseJobs } from '../../src/features/incidents/erase-job.ts';
import type { JobKind } from '../../src/features/incidents/job-kind.ts';
import { JobRunner } from '../../src/features/incidents/runner.ts';
import { openAdmin } from '../support/admin.ts';
import { encodeVariants, foundInTables } from '../support/encodings.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { startService } from '../support/test-service.ts';

const TEXT = 'Ana lives at 12 Elm Street';
const TENANTS = ['acme', 'globex', 'initech'];

it('erases files that two replicas accept before they know that the text is kept out', async () => {
  const created = await createTestDatabase();
  const env = { DATABASE_URL: created.url };
  const replicas = [await startService('postgres', env), await startService('postgres', env)] as const;
  const [first] = replicas;
  const admin = await openAdmin(first);
  const kind = eraseJobs(first.database, loadConfig({ DB_STATEMENT_TIMEOUT_MS: '2s' }));
  onTestFinished(async () => {
    await Promise.all([kind.close?.(), admin.app.close(), ...replicas.map((replica) => replica.close())]);
    await created.drop();
  });
  let files = 0;
  /** Writes a file with the text in a tenant on each replica. Returns how many replicas accepted the file. */
  const write = async (tenant: string) => {
    const results = await Promise.all(
      replicas.map((replica) => replica.execute(cmd.create(`/memories/${files++}.md`, TEXT), { tenant })),
    );
    return results.filter((result) => !result.is_error).length;
  };
  // The second write caches the policy for the tenant that the first write created.
  for (const tenant of [...TENANTS, ...TENANTS]) expect(await write(tenant)).toBe(2);
  const body = { text: TEXT, keep_out: true, dry_run: false };
  const { id } = (await admin.call('POST', '/erase', { body })).body;
  const accepted: number[] = [];
  const work: JobKind['work'] = async (job, tenant, run) => {
    const result = await kind.work(job, tenant, run);
    accepted.push(await write(tenant));
    return result;
  };
  await new JobRunner(first.database, [{ ...kind, work }], (_, error) => {
    throw error;
  }).run();
  // Only the writes in the first pass were accepted. The others came after the wait.
  expect(accepted.slice(0, TENANTS.length)).toStrictEqual(TENANTS.map(() => 2));
  expect(accepted.slice(TENANTS.length)).toStrictEqual(accepted.slice(TENANTS.length).map(() => 0));
  const job = (await admin.call('GET', `/jobs/${id}`)).body;
  expect(job).toMatchObject({ state: 'done', is_exact: true, counts: { files: 6 * TENANTS.length } });
  expect(await foundInTables(first, encodeVariants(TEXT))).toStrictEqual([]);
});
