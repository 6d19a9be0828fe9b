/**
 * `npm run bench -- retrieval DIRECTORY`: compares the word search's ranking with other search engines, over
 * conversations and questions that others collected. Then it compares the characters that a model reads until the
 * evidence with `grep -n` and with full files. Prints Markdown.
 *
 * The directory has files `*.json.gz`, which do not belong to this project: an array of conversations {docs, sess, qs}.
 * `docs` and `sess` (a document per session) are arrays of {id, text}. `qs` are questions {q, ev, evs} with the
 * IDs of the documents and sessions that contain the evidence.
 *
 * Environment: PEERS is a comma-separated list that selects engines. HALF (even, odd) selects every second
 * conversation. TEST_DATABASE_URL as for the tests. Needs Python 3 for bm25s.
 */
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { progress, withCleanup } from './support/cleanup.ts';
import type { BenchDatabase } from './support/postgres.ts';
import { installPython, root } from './support/process.ts';
import { grep, Reading } from './support/reading.ts';
import { type Conversation, type Document, Quality, readDataSets } from './support/retrieval.ts';
import { type BenchService, startService } from './support/service.ts';
import { Times } from './support/statistics.ts';

const LIMITS = [5, 10, 20];
const LIMIT = Math.max(...LIMITS);
const PEERS = join(root, 'bench', 'retrieval-peers');

/** Returns the IDs of the best documents, best first. */
type Ask = (query: string, limit: number) => string[] | Promise<string[]>;
/** Opens an index over the documents. */
type Engine = (documents: readonly Document[]) => Promise<Ask>;

const documentPath = (id: string) => `/memories/${id.replaceAll(/[/:]/g, '-')}.md`;

/** Number of calls per request that create files. */
const BLOCK = 25;
/** The largest `max_results`, because a file may have several results. */
const MOST_RESULTS = 100;

let tenants = 0;

/** Creates a tenant with a file for each document. */
async function createFiles(service: BenchService, documents: readonly Document[]): Promise<string> {
  const tenant = `conversation-${tenants++}`;
  const calls = documents.map(({ id, text }) => ({
    type: 'tool_use',
    id,
    name: 'memory',
    input: { command: 'create', path: documentPath(id), file_text: text },
  }));
  for (let i = 0; i < calls.length; i += BLOCK) {
    const results = JSON.parse(await service.post('/execute', tenant, calls.slice(i, i + BLOCK)));
    if ((results as { is_error?: boolean }[]).some(({ is_error }) => is_error))
      throw new Error('A file could not be created.');
  }
  return tenant;
}

function memoryService(service: BenchService): Engine {
  return async (documents) => {
    const tenant = await createFiles(service, documents);
    const ids = new Map(documents.map(({ id }) => [documentPath(id), id]));
    return async (query, limit) => {
      const response = await service.post('/search', tenant, { query, max_results: MOST_RESULTS });
      const { matches } = JSON.parse(response) as { matches: { path: string }[] };
      return [...new Set(matches.map(({ path }) => ids.get(path) ?? path))].slice(0, limit);
    };
  };
}

/** Full text search in Postgres: any word, English stems, a GIN index, and `ts_rank` by the length. */
function postgres({ query: run }: BenchDatabase): Engine {
  return async (documents) => {
    await run('DROP TABLE IF EXISTS documents');
    await run(
      "CREATE TABLE documents (id text, text tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED, content text)",
    );
    for (const { id, text } of documents)
      await run('INSERT INTO documents (id, content) VALUES ($1, $2)', [id, text]);
    await run('CREATE INDEX ON documents USING gin (text)');
    await run('ANALYZE documents');
    return async (query, limit) => {
      const rows = await run(
        `SELECT id FROM documents, CAST(replace(plainto_tsquery('english', $1)::text, '&', '|') AS tsquery) AS query
         WHERE text @@ query ORDER BY ts_rank(text, query, 1) DESC, id LIMIT $2`,
        [query, limit],
      );
      return rows.map(({ id }) => String(id));
    };
  };
}

function installLibraries(): void {
  execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', PEERS], {
    stdio: 'ignore',
  });
}

/** A library in JavaScript, in this process. */
function library(name: string): Engine {
  return async (documents) => {
    const { open } = await import(pathToFileURL(join(PEERS, `${name}.js`)).href);
    return open(documents);
  };
}

/** Installs bm25s into the scratch directory, and starts it in a child process. */
function bm25s(scratch: string, addCleanup: (undo: () => unknown) => void): Engine {
  const python = installPython(join(scratch, 'python'), join(PEERS, 'requirements.txt'));
  const child = spawn(python, [join(PEERS, 'serve_bm25s.py')], { stdio: ['pipe', 'pipe', 'inherit'] });
  addCleanup(() => child.kill());
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const call = async (request: unknown): Promise<number[]> => {
    child.stdin.write(`${JSON.stringify(request)}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error('bm25s ended.');
    return JSON.parse(value);
  };
  return async (documents) => {
    await call(documents.map(({ text }) => text));
    return async (query, limit) =>
      (await call({ query, limit })).map((place) => documents[place]?.id ?? String(place));
  };
}

async function measure(open: Engine, conversations: readonly Conversation[]): Promise<string> {
  const quality = new Quality(LIMITS);
  const times = new Times();
  for (const { documents, questions } of conversations) {
    const ask = await open(documents);
    for (const { query, evidence } of questions) {
      const start = performance.now();
      const ranked = await ask(query, LIMIT);
      times.add(performance.now() - start);
      quality.add(ranked, evidence);
    }
  }
  const [p50 = Number.NaN] = times.percentiles(0.5);
  const recalls = quality.recalls().map((recall) => (100 * recall).toFixed(1));
  return [...recalls, quality.meanReciprocalRank().toFixed(3), p50.toFixed(2)].join(' | ');
}

/** Reads a question's documents until the evidence, with each way to find documents. */
async function measureReading(
  service: BenchService,
  conversations: readonly Conversation[],
): Promise<Map<string, Reading>> {
  const readings = new Map(['memory_search', 'grep -n', 'all files'].map((way) => [way, new Reading()]));
  for (const { documents, questions } of conversations) {
    const tenant = await createFiles(service, documents);
    const ids = new Map(documents.map(({ id }) => [documentPath(id), id]));
    for (const { query, passages } of questions) {
      if (passages.length === 0) continue;
      const response = JSON.parse(await service.post('/search', tenant, { query }));
      const lines = (response.content as string).split('\n');
      const matches = response.matches as { path: string; line: number | null }[];
      const shown = matches.map(({ path, line }, i) => ({
        id: ids.get(path) ?? path,
        line,
        characters: (lines[i + 1]?.length ?? 0) + 1,
      }));
      readings.get('memory_search')?.add(shown, documents, passages);
      readings.get('grep -n')?.add(grep(query, documents), documents, passages);
      readings.get('all files')?.add([], documents, passages);
    }
  }
  return readings;
}

const [, , directory] = process.argv;
if (directory === undefined)
  throw new Error('Name the directory of the data: npm run bench -- retrieval DIRECTORY');
const sets = readDataSets(directory, process.env.HALF);

await withCleanup(async (scratch, later) => {
  progress('starting the service and installing the peers');
  const engines: Record<string, () => Engine | Promise<Engine>> = {
    memory_search: async () => memoryService(service),
    'Postgres full text': async () => postgres(await service.createDatabase()),
    bm25s: () => bm25s(scratch, later),
    MiniSearch: () => library('minisearch'),
    lunr: () => library('lunr'),
  };
  const chosen = process.env.PEERS?.split(',') ?? Object.keys(engines);
  const service = await startService(scratch, later);
  if (chosen.includes('MiniSearch') || chosen.includes('lunr')) installLibraries();
  for (const { name, conversations } of sets) {
    const files = conversations.flatMap(({ documents }) => documents);
    const bytes = files.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0) / files.length;
    const questions = conversations.reduce((sum, each) => sum + each.questions.length, 0);
    console.log(
      `\n${name}: ${questions} questions about ${conversations.length} conversations, ${files.length} files of ${Math.round(bytes)} bytes\n`,
    );
    console.log(`| Engine | ${LIMITS.map((limit) => `recall@${limit}, %`).join(' | ')} | MRR | p50, ms |`);
    console.log(`|---|${'--:|'.repeat(LIMITS.length + 2)}`);
    for (const engine of chosen) {
      const open = engines[engine];
      if (open === undefined)
        throw new Error(`PEERS names ${engine}, which is not one of ${Object.keys(engines).join(', ')}.`);
      progress(`${name}: ${engine}`);
      console.log(`| ${engine} | ${await measure(await open(), conversations)} |`);
    }
    if (!chosen.includes('memory_search')) continue;
    progress(`${name}: reading`);
    console.log(
      '\n| Characters read | until the evidence | in the whole result | evidence in the result, % |',
    );
    console.log('|---|--:|--:|--:|');
    for (const [way, reading] of await measureReading(service, conversations)) {
      const { untilEvidence, result, inResult } = reading.means();
      console.log(
        `| ${way} | ${Math.round(untilEvidence)} | ${Math.round(result)} | ${(100 * inResult).toFixed(1)} |`,
      );
    }
  }
});
