/**
 * `npm run bench -- console`: measures the console with 100,000 files. Prints the size of the built page. For the
 * current and a past time, prints the time until the tree and a file are usable, the number of requests, and the page's
 * heap size.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { loadConfig } from '../src/core/config.ts';
import { migrate } from '../src/core/database/migrate.ts';
import { openDatabase } from '../src/core/database/open-database.ts';
import { parseQuery } from '../src/core/database/query.ts';
import { Tenants } from '../src/core/tenants/tenants.ts';
import { launchChromium } from '../test/support/chromium.ts';
import { buildConsole, createAdminKey, startConsole } from '../test/support/start-console.ts';
import { fillVastMemory, LAYOUTS } from '../test/support/vast-memory.ts';

const ROUNDS = 3;
const ASSETS = 'console/dist/assets';

await buildConsole();
for (const name of await readdir(ASSETS)) {
  const content = await readFile(join(ASSETS, name));
  console.log(`${name}: ${content.length} bytes, ${gzipSync(content, { level: 9 }).length} with gzip`);
}

const dataDirectory = await mkdtemp(join(tmpdir(), 'bench-console-'));
const { DATABASE_URL } = process.env;
const database = await openDatabase(
  loadConfig({
    AUTH: 'keys',
    LOG_LEVEL: 'warn',
    ...(DATABASE_URL === undefined ? { DATA_DIR: dataDirectory } : { DATABASE_URL }),
  }),
);
await migrate(database);
const run = (text: string) => database.query(parseQuery(text, text), {});
for (const tenant of ['flat', 'nested'] as const) {
  await new Tenants(database).create(tenant);
  await fillVastMemory(run, tenant, tenant);
}
await run('ANALYZE');

const server = await startConsole(database);
const { key } = await createAdminKey(database);
const browser = await launchChromium();
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
let requests: string[] = [];
page.on('requestfinished', (request) => {
  const { pathname } = new URL(request.url());
  const name = pathname.replace(/^\/v1\/(tenants\/[^/]+\/?)?/, '');
  if (pathname.startsWith('/v1/')) requests.push(`${name} ${Math.round(request.timing().responseEnd)}`);
});
await page.goto(server.url);
await page.getByLabel('Admin key').fill(key);
await page.getByRole('button', { name: 'Sign in' }).click();
await page.getByRole('button', { name: 'Sign out' }).waitFor();
await page.addInitScript(`(function look() {
  const isUsable = document.querySelector('[role=treeitem][aria-selected=true]') && document.querySelector('.lines');
  if (isUsable) window.usableAfter = performance.now();
  else requestAnimationFrame(look);
})()`);
const devtools = await page.context().newCDPSession(page);

const past = new Date(Date.now() - 30 * 3_600_000).toISOString();
for (const [tenant, { parent }] of Object.entries(LAYOUTS)) {
  for (const at of [null, past]) {
    for (let i = 0; i < ROUNDS; i++) {
      const query = at === null ? '' : `&at=${at}`;
      const file = `${parent}/file-099500.md`;
      requests = [];
      await page.goto(`${server.url}/?${tenant}${i}${at}#/tenants/${tenant}?path=${file}${query}`);
      const usable = await readUsableTime();
      await page.getByText('100,000 files', { exact: true }).waitFor();
      await page.waitForLoadState('networkidle');
      await devtools.send('HeapProfiler.collectGarbage');
      const { usedSize } = await devtools.send('Runtime.getHeapUsage');
      console.log(
        `${tenant}, ${at === null ? 'now' : 'past'}: usable after ${usable.toFixed(0)} ms, ${requests.length} requests in all, ` +
          `${(usedSize / 2 ** 20).toFixed(1)} MB of heap`,
      );
      if (i === ROUNDS - 1) console.log(`  ms of each request: ${requests.join(', ')}`);
    }
  }
}
console.log(`scrolling, ms a frame: ${JSON.stringify(await scroll())}`);

await browser.close();
await server.close();
await database.close();
await rm(dataDirectory, { recursive: true });

/**
 * Returns the milliseconds from the navigation until the tree shows the file and the page shows its lines. The page
 * measures the time, because an embedded database blocks this process while it counts.
 */
function readUsableTime(): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    (function look() {
      if (window.usableAfter === undefined) requestAnimationFrame(look);
      else resolve(window.usableAfter);
    })();
  })`);
}

/** Scrolls through the tree and measures each frame. The code is a string, because it runs in the page. */
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
