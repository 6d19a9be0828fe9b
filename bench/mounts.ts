/**
 * `npm run bench -- mounts`: compares viewing `/memories` with eight mounts to viewing it without mounts, over HTTP.
 * Each memory has 20 files in the root. The views alternate in small batches, so that a noisy machine slows both
 * equally. Prints Markdown. Environment: ROUNDS (batches of each view, 60); TEST_DATABASE_URL as for the tests.
 */
import { setting, withCleanup } from './support/cleanup.ts';
import { startService } from './support/service.ts';
import { median } from './support/statistics.ts';

const ROUNDS = setting('ROUNDS', 60);
const BATCH = 50;
const MOUNTS = 8;
const FILES = 20;
const TENANTS = ['plain', 'with-mounts'];

await withCleanup(async (scratch, later) => {
  const mounts = Array.from({ length: MOUNTS }, (_, i) => ({ name: `m${i}`, tenant: `mounted-${i}` }));
  const tenants = [
    ...mounts.map(({ tenant }) => ({ id: tenant })),
    { id: 'plain' },
    { id: 'with-mounts', mounts },
  ];
  const service = await startService(scratch, later, { BOOTSTRAP: JSON.stringify({ tenants }) });
  const execute = (tenant: string, body: object) => service.post('/execute', tenant, body);
  for (const { id } of tenants) {
    for (let i = 0; i < FILES; i++)
      await execute(id, { command: 'create', path: `/memories/file-${i}.md`, file_text: `File ${i}.` });
  }
  const view = { command: 'view', path: '/memories' };
  const countEntries = async (tenant: string) => (await execute(tenant, view)).split('\\n').length - 2;
  const counts = await Promise.all(TENANTS.map(countEntries));
  console.log(`${service.description}. ${counts[0]} entries without mounts, ${counts[1]} with ${MOUNTS}.\n`);
  console.log('| At once | without, ms | with, ms | ratio |');
  console.log('|--:|--:|--:|--:|');
  for (const atOnce of [1, 16]) {
    const times: Record<string, number[]> = { plain: [], 'with-mounts': [] };
    for (let round = 0; round < ROUNDS; round++) {
      for (const tenant of TENANTS) {
        const start = performance.now();
        for (let sent = 0; sent < BATCH; sent += atOnce)
          await Promise.all(Array.from({ length: atOnce }, () => execute(tenant, view)));
        // The first rounds are the warm-up.
        if (round >= 5) times[tenant]?.push((performance.now() - start) / BATCH);
      }
    }
    const [plain = 0, mounted = 0] = TENANTS.map((tenant) => median(times[tenant] ?? []));
    console.log(
      `| ${atOnce} | ${plain.toFixed(2)} | ${mounted.toFixed(2)} | ${(mounted / plain).toFixed(2)} |`,
    );
  }
});
