/**
 * `npm run bench -- keep-out`: the time for `create` and `insert` with 10,000 texts that are kept out, relative to the
 * same requests without such texts. Each round measures both in one process, in changing order.
 *
 * Environment: ROUNDS (20), REQUESTS per round (400); TEST_POSTGRES as for the tests.
 */

import { loadConfig } from '../src/core/config.ts';
import { migrate } from '../src/core/database/migrate.ts';
import { openDatabase } from '../src/core/database/open-database.ts';
import { keptOutEntry } from '../src/core/memory/secrets/kept-out.ts';
import { keyedHashes, requireInstallation } from '../src/core/tenants/installation.ts';
import { Tenants } from '../src/core/tenants/tenants.ts';
import { buildApp } from '../src/service/agents-app.ts';
import { setting, withCleanup } from './support/cleanup.ts';
import { text } from './support/data.ts';
import { startPostgres } from './support/postgres.ts';
import { median } from './support/statistics.ts';

const ROUNDS = setting('ROUNDS', 20);
const REQUESTS = setting('REQUESTS', 400);
const ENTRIES = 10_000;
const CONNECTIONS = 16;

/** Returns a sentence with 5 to 24 words, such as an operator keeps out. */
function sentence(i: number): string {
  const words = text(1024).split(' ');
  return `Customer ${i * 7919} ${words[i % 100]} ${words.slice(10, 12 + (i % 20)).join(' ')}`;
}

await withCleanup(async (scratch, later) => {
  const server = await startPostgres(scratch);
  later(() => server.stop());
  const { url, query } = await server.createDatabase();
  const config = loadConfig({
    DATABASE_URL: url,
    AUTH: 'none',
    LOG_LEVEL: 'silent',
    HISTORY_DAYS: '0',
    RATE_LIMIT_PER_MINUTE: '0',
    MAX_TENANT_FILES: '1000000',
    MAX_TENANT_BYTES: '10GB',
  });
  const database = await openDatabase(config);
  later(() => database.close());
  await migrate(database);
  for (const tenant of ['without', 'with']) await new Tenants(database).create(tenant);
  const hashes = keyedHashes(await requireInstallation(database.query, config));
  for (let i = 0; i < ENTRIES; i++) {
    const entry = await keptOutEntry(sentence(i), hashes);
    if (typeof entry === 'string') throw new Error(entry);
    await query(
      `INSERT INTO kept_out (id, tenant_id, hash, prefix, tokens, created_by)
       VALUES (gen_random_uuid(), 'with', decode($1, 'hex'), $2, $3, '{"type":"anonymous"}')`,
      [entry.hash, entry.prefix, entry.tokens],
    );
  }
  await query('UPDATE installation SET kept_out_changes = 1');
  const app = await buildApp({ config, database });
  later(() => app.close());
  await app.ready();

  let count = 0;
  const send = async (tenant: string, payload: object) => {
    const response = await app.inject({
      method: 'POST',
      url: '/execute',
      headers: { 'x-tenant-id': tenant },
      payload,
    });
    if (response.statusCode !== 200 || response.json().is_error) throw new Error(response.body);
  };
  const cases = {
    'create, 1 KB': () => ({
      command: 'create',
      path: `/memories/d${count % 50}/${count++}`,
      file_text: text(1024),
    }),
    'create, 10 KB': () => ({
      command: 'create',
      path: `/memories/d${count % 50}/${count++}`,
      file_text: text(10_240),
    }),
    'insert into 10 KB': () => ({ command: 'insert', path: '/memories/f', insert_line: 0, insert_text: '' }),
  };
  const time = async (tenant: string, input: () => object) => {
    const started = performance.now();
    const before = process.cpuUsage();
    let left = REQUESTS;
    const loop = async () => {
      while (left-- > 0) await send(tenant, input());
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, loop));
    const { user, system } = process.cpuUsage(before);
    return { wall: (performance.now() - started) / REQUESTS, processor: (user + system) / 1000 / REQUESTS };
  };
  for (const tenant of ['without', 'with'])
    await send(tenant, { command: 'create', path: '/memories/f', file_text: text(10_240) });
  console.log(
    '| Requests | Without, ms | With, ms | Ratio of time | Ratio of CPU time |\n|---|---|---|---|---|',
  );
  for (const [name, input] of Object.entries(cases)) {
    const found = { without: [] as Measured[], with: [] as Measured[] };
    type Measured = Awaited<ReturnType<typeof time>>;
    for (let round = 0; round < ROUNDS + 2; round++) {
      const order = round % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const);
      for (const tenant of order) {
        const measured = await time(tenant, input);
        if (round >= 2) found[tenant].push(measured);
      }
    }
    const ratio = (of: keyof Measured) =>
      (median(found.with.map((each) => each[of])) / median(found.without.map((each) => each[of]))).toFixed(3);
    const medianMs = (each: Measured[]) => median(each.map(({ wall }) => wall)).toFixed(3);
    console.log(
      `| ${name} | ${medianMs(found.without)} | ${medianMs(found.with)} | ${ratio('wall')} | ${ratio('processor')} |`,
    );
  }
});
