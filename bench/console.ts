// The console with 100,000 files: `npx tsx bench/console.ts`. Prints the size of the built page, and for now and for a past moment how long it
// takes until a person can use the tree and a file in it, with how many requests, and how much heap the page uses.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { loadConfig } from '../src/config.ts';
import { openDatabase } from '../src/open-database.ts';
import { migrate } from '../src/postgres/migrate.ts';
import { Tenants } from '../src/tenants/tenants.ts';
import { launchChromium } from '../test/support/chromium.ts';
import { buildConsole, createAdminKey, startConsole } from '../test/support/console.ts';
import { testQuery } from '../test/support/query.ts';

const FILES = 100_000;
const DIRECTORIES = 1000;
/** Superseded versions of each file. */
const VERSIONS = 3;
const ROUNDS = 3;
const ASSETS = 'console/dist/assets';

/** All files in one directory, and in many. */
const LAYOUTS = {
  flat: { path: "'/memories/all/file-' || lpad(i::text, 6, '0') || '.md'", parent: '/memories/all' },
  nested: {
    path: `'/memories/dir-' || lpad((i % ${DIRECTORIES})::text, 4, '0') || '/file-' || lpad(i::text, 6, '0') || '.md'`,
    parent: '/memories/dir-0500',
  },
};

await buildConsole();
for (const name of await readdir(ASSETS)) {
  const content = await readFile(join(ASSETS, name));
  console.log(`${name}: ${content.length} bytes, ${gzipSync(content, { level: 9 }).length} with gzip`);
}

const dataDirectory = await mkdtemp(join(tmpdir(), 'bench-console-'));
const { DATABASE_URL } = process.env;
const database = await openDatabase(
  loadConfig({
    ...{ AUTH: 'keys', LOG_LEVEL: 'warn' },
    ...(DATABASE_URL === undefined ? { DATA_DIR: dataDirectory } : { DATABASE_URL }),
  }),
);
await migrate(database);
const run = (text: string) => database.query(testQuery(text, [], text), {});
for (const [tenant, { path }] of Object.entries(LAYOUTS)) await fill(tenant, path);
await run('ANALYZE');

const server = await startConsole(database);
const { key } = await createAdminKey(database);
const browser = await launchChromium();
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
let requests = 0;
page.on('request', (request) => {
  if (request.url().includes('/v1/')) requests++;
});
await page.goto(server.url);
await page.getByLabel('Admin key').fill(key);
await page.getByRole('button', { name: 'Sign in' }).click();
await page.getByRole('button', { name: 'Sign out' }).waitFor();
const devtools = await page.context().newCDPSession(page);

const past = new Date(Date.now() - 30 * 3_600_000).toISOString();
for (const [tenant, { parent }] of Object.entries(LAYOUTS)) {
  for (const at of [null, past]) {
    for (let i = 0; i < ROUNDS; i++) {
      const query = at === null ? '' : `&at=${at}`;
      const file = `${parent}/file-099500.md`;
      requests = 0;
      const start = performance.now();
      await page.goto(`${server.url}/?${tenant}${i}${at}#/tenants/${tenant}?path=${file}${query}`);
      await page.getByRole('treeitem', { selected: true }).waitFor();
      await page.locator('.lines').waitFor();
      const usable = performance.now() - start;
      await page.getByText('100,000 files', { exact: true }).waitFor();
      await page.waitForLoadState('networkidle');
      await devtools.send('HeapProfiler.collectGarbage');
      const { usedSize } = await devtools.send('Runtime.getHeapUsage');
      console.log(
        `${tenant}, ${at === null ? 'now' : 'past'}: usable after ${usable.toFixed(0)} ms, ${requests} requests in all, ` +
          `${(usedSize / 2 ** 20).toFixed(1)} MB of heap`,
      );
    }
  }
}
console.log(`scrolling, ms a frame: ${JSON.stringify(await scroll())}`);

await browser.close();
await server.close();
await database.close();
await rm(dataDirectory, { recursive: true });

async function fill(tenant: string, path: string): Promise<void> {
  await new Tenants(database).create(tenant);
  const twoDaysAgo = "now() - interval '2 days'";
  await run(`INSERT INTO entries (tenant_id, path, kind, changed_at)
    VALUES ('${tenant}', '/memories', 'dir', ${twoDaysAgo}) ON CONFLICT DO NOTHING`);
  await run(`INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at)
    SELECT DISTINCT '${tenant}', memory_parent(${path}), '/memories', 'dir', now() - interval '9 days'
    FROM generate_series(0, ${FILES - 1}) AS i`);
  await run(`INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
    SELECT '${tenant}', path, memory_parent(path), 'file', repeat('text ', 60),
      memory_version_id(memory_id_prefix(now() - interval '1 day'), gen_random_uuid()), memory_id, 'modified', now() - interval '1 day'
    FROM (SELECT ${path} AS path, gen_random_uuid() AS memory_id FROM generate_series(0, ${FILES - 1}) AS i) AS f`);
  const ago = (n: string) => `now() - ${n} * interval '36 hours'`;
  await run(`INSERT INTO versions (
      tenant_id, id, memory_id, operation, path, bytes, size_bytes, content, content_sha256, created_at, superseded_at
    )
    SELECT tenant_id, memory_version_id(memory_id_prefix(${ago('n')}), gen_random_uuid()), memory_id, 'modified', path, 500, 300,
      repeat('old. ', 60), memory_sha256('x'), ${ago('n')}, CASE n WHEN 1 THEN now() - interval '1 day' ELSE ${ago('(n - 1)')} END
    FROM entries, generate_series(1, ${VERSIONS}) AS n WHERE tenant_id = '${tenant}' AND kind = 'file'`);
  await run(`UPDATE tenants SET file_count = ${FILES}, byte_count = ${FILES} * 300, last_change_at = now() - interval '1 day',
    created_at = now() - interval '10 days', history_since = now() - interval '10 days' WHERE id = '${tenant}'`);
}

/** Scrolls through the tree, and measures each frame. In text, because it runs in the page. */
function scroll(): Promise<unknown> {
  return page.evaluate(`(async () => {
    const tree = document.querySelector('[role=tree]');
    const times = [];
    let last = performance.now();
    for (let i = 0; i < 200; i++) {
      tree.scrollBy(0, 1400);
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      times.push(now - last);
      last = now;
    }
    times.sort((a, b) => a - b);
    const rows = document.querySelectorAll('[role=treeitem]').length;
    return { rows, median: Math.round(times[100]), p95: Math.round(times[190]), longest: Math.round(times[199]) };
  })()`);
}
