// The console with 10,000 files: `npx tsx bench/console.ts`. Prints the size of the built page, and how long it takes to show the tree.
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

const FILES = 10_000;
const ROUNDS = 5;
const ASSETS = 'console/dist/assets';

await buildConsole();
for (const name of await readdir(ASSETS)) {
  const content = await readFile(join(ASSETS, name));
  console.log(`${name}: ${content.length} bytes, ${gzipSync(content, { level: 9 }).length} with gzip`);
}

const dataDirectory = await mkdtemp(join(tmpdir(), 'bench-console-'));
const database = await openDatabase(loadConfig({ AUTH: 'keys', DATA_DIR: dataDirectory, LOG_LEVEL: 'warn' }));
await migrate(database);
await new Tenants(database).create('large');
const run = (text: string) => database.query(testQuery(text, [], text), {});
await run(
  `INSERT INTO entries (tenant_id, path, kind, changed_at) VALUES ('large', '/memories', 'dir', now()) ON CONFLICT DO NOTHING`,
);
await run(`INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
  SELECT 'large', '/memories/file-' || lpad(i::text, 5, '0') || '.md', '/memories', 'file', 'x', memory_version_id(memory_id_prefix(now()), gen_random_uuid()), gen_random_uuid(), 'created', now()
  FROM generate_series(1, ${FILES}) AS i`);
const server = await startConsole(database);
const { key } = await createAdminKey(database);
const browser = await launchChromium();
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.goto(server.url);
await page.getByLabel('Admin key').fill(key);
await page.getByRole('button', { name: 'Sign in' }).click();
await page.getByRole('link', { name: 'large' }).waitFor();

for (let i = 0; i < ROUNDS; i++) {
  const start = performance.now();
  await page.goto(`${server.url}/?${i}#/tenants/large`);
  await page.getByRole('treeitem').first().waitFor();
  const first = performance.now() - start;
  await page.getByText('10,000 files', { exact: true }).waitFor();
  const all = performance.now() - start;
  console.log(`first rows after ${first.toFixed(0)} ms, all files after ${all.toFixed(0)} ms`);
}
console.log(`scrolling, ms a frame: ${JSON.stringify(await scroll())}`);

await browser.close();
await server.close();
await database.close();
await rm(dataDirectory, { recursive: true });

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
