/**
 * `npm run bench -- search`: measures searches in memories with 100 and with 10,000 files (5 KB each), over HTTP, and
 * the service's memory usage. Prints Markdown. The service's CPU time hardly depends on other load. Environment:
 * SEARCHES (per kind, 20); FILES (comma-separated file counts); TEST_DATABASE_URL as for the tests.
 */
import { setting, withCleanup } from './support/cleanup.ts';
import { text } from './support/data.ts';
import { type BenchService, startService } from './support/service.ts';

const SEARCHES = setting('SEARCHES', 20);
const FILES = (process.env.FILES ?? '100,10000').split(',').map(Number);
const BYTES = 5000;

/** Queries for words that few files contain, for words that all files contain, for a text, and for expressions. */
const QUERIES = [
  { query: 'replica failover kubernetes' },
  { query: 'notes about the database of a tenant' },
  { query: 'readyz', mode: 'literal' },
  { query: '(?i)replica\\w* .*lock', mode: 'regex' },
  { query: '[a-z]+ed by the [a-z]+', mode: 'regex' },
];

/** Generates files with different words from this project's documentation, in reading order. */
function* contents(count: number): Generator<[path: string, content: string]> {
  const words = text(200_000).split(/\s+/);
  for (let i = 0; i < count; i++) {
    let content = `# File ${i}\n`;
    // Steps without a common divisor with the word count produce different sentences in each file.
    for (let at = i * 7919; content.length < BYTES; at += 1 + (i % 5))
      content += `${words[at % words.length]}${at % 12 === 0 ? '\n' : ' '}`;
    yield [`/memories/d${Math.floor(i / 100)}/f${i}.md`, content];
  }
}

async function remember({ post }: BenchService, tenant: string, count: number): Promise<void> {
  let calls: object[] = [];
  for (const [path, file_text] of contents(count)) {
    calls.push({ type: 'tool_use', id: path, name: 'memory', input: { command: 'create', path, file_text } });
    if (calls.length < 25) continue;
    await post('/execute', tenant, calls);
    calls = [];
  }
}

await withCleanup(async (scratch, later) => {
  const service = await startService(scratch, later);
  console.log(`${service.description}.\n`);
  console.log('| Files | Query | p50, ms | p99, ms | CPU, ms |');
  console.log('|--:|---|--:|--:|--:|');
  for (const count of FILES) {
    const tenant = `files-${count}`;
    await remember(service, tenant, count);
    for (const query of QUERIES) {
      const times: number[] = [];
      await service.post('/search', tenant, query);
      const used = service.processorTime();
      for (let i = 0; i < SEARCHES; i++) {
        const start = performance.now();
        await service.post('/search', tenant, query);
        times.push(performance.now() - start);
      }
      const processor = (service.processorTime() - used) / 1000 / SEARCHES;
      times.sort((one, other) => one - other);
      const [p50, p99] = [0.5, 0.99].map((part) => times[Math.floor(times.length * part)]?.toFixed(1));
      console.log(`| ${count} | \`${JSON.stringify(query)}\` | ${p50} | ${p99} | ${processor.toFixed(0)} |`);
    }
  }
  console.log(`\nMemory of the service: ${(service.memory() / 2 ** 20).toFixed(0)} MiB.`);
});
