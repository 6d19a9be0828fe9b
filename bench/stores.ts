/**
 * `npm run bench -- stores`: measures lists in the Memory Stores API with 10,000 memories, over HTTP. The memories are
 * in 100 directories, or all in one. Prints Markdown. Environment: BYTES per memory (2048); RUNS (per list, 50; the
 * complete lists have 7); TEST_DATABASE_URL as for the tests.
 */
import { loadavg } from 'node:os';
import { setting, withCleanup } from './support/cleanup.ts';
import { text } from './support/data.ts';
import { startService } from './support/service.ts';
import { Times } from './support/statistics.ts';

const RUNS = setting('RUNS', 50);
const WHOLE_RUNS = 7;
const MEMORIES = 10_000;
const BYTES = setting('BYTES', 2048);
const WRITERS = 8;

interface Page {
  data: object[];
  next_page: string | null;
}

async function send<T>(url: string, body?: object): Promise<T> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  const response = await fetch(url, body === undefined ? {} : init);
  if (!response.ok) throw new Error(`${url} returned ${response.status}.`);
  return (await response.json()) as T;
}

/** Creates a store and returns the URL for its memories. */
async function fill(url: string, choosePath: (i: number) => string): Promise<string> {
  const { id } = await send<{ id: string }>(`${url}/v1/memory_stores`, { name: 'Bench' });
  const memories = `${url}/v1/memory_stores/${id}/memories`;
  const prose = text(BYTES + MEMORIES);
  let next = 0;
  const write = async () => {
    for (let i = next++; i < MEMORIES; i = next++) {
      await send(memories, { path: choosePath(i), content: prose.slice(i, i + BYTES) });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  return memories;
}

/** @returns number of items in the complete list */
async function readAll(memories: string): Promise<number> {
  let items = 0;
  let page: string | null = '';
  do {
    const read: Page = await send(`${memories}?limit=100&page=${page}`);
    items += read.data.length;
    page = read.next_page;
  } while (page !== null);
  return items;
}

async function measure(name: string, runs: number, list: () => Promise<number>): Promise<void> {
  const items = await list();
  const times = new Times();
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    await list();
    times.add(performance.now() - start);
  }
  const [p50, p90] = times.percentiles(0.5, 0.9).map((each) => each.toFixed(1));
  console.log(`| ${name} | ${items} | ${p50} | ${p90} | ${loadavg()[0]?.toFixed(1)} |`);
}

await withCleanup(async (scratch, later) => {
  const service = await startService(scratch, later);
  const tree = await fill(service.url, (i) => `/d${Math.floor(i / 100)}/f${i}.md`);
  const flat = await fill(service.url, (i) => `/f${i}.md`);
  console.log(`${service.description}.\n`);
  console.log(
    `| List of a store with 10,000 memories of ${BYTES} bytes | Items | p50, ms | p90, ms | Load of the machine |`,
  );
  console.log('|---|--:|--:|--:|--:|');
  const page = (memories: string, query: string) => async () =>
    (await send<Page>(`${memories}?limit=100${query}`)).data.length;
  await measure('a page of 100', RUNS, page(tree, ''));
  await measure('a page of 20 with contents', RUNS, page(tree, '&view=full'));
  await measure('`depth=1` at the root: 100 directories', RUNS, page(tree, '&depth=1'));
  await measure('`depth=1` at the root: 10,000 memories, a page', RUNS, page(flat, '&depth=1'));
  await measure('all, by pages of 100', WHOLE_RUNS, () => readAll(tree));
  await measure('all in one directory, by pages of 100', WHOLE_RUNS, () => readAll(flat));
});
