/**
 * A git repository that mirrors a memory: one commit for each change, with the actor as its author. The last commit has
 * the position, so a later run continues from there.
 *
 *   export MEMORY_SERVICE_URL=http://localhost:8080 MEMORY_SERVICE_API_KEY=msk_…
 *   npx tsx examples/git-mirror.ts mirror.git
 *   git clone mirror.git mirror
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { type FileEvent, MemoryClient } from 'memory-service-client';

const memory = new MemoryClient({
  url: process.env.MEMORY_SERVICE_URL ?? 'http://localhost:8080',
  apiKey: process.env.MEMORY_SERVICE_API_KEY,
  tenant: process.env.MEMORY_SERVICE_TENANT,
});

const [repository = 'mirror.git'] = process.argv.slice(2);
const git = (args: string[], input = '') =>
  execFileSync('git', ['-C', repository, ...args], { input, encoding: 'utf8' }).trim();
if (!existsSync(repository))
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', repository]);

// `git fast-import` writes no working files, so a path of the memory cannot overwrite the repository's own files.
const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`;
const quote = (path: string) => `"${path.replace('/memories/', '').replaceAll(/["\\]/g, '\\$&')}"`;
const write = (path: string, text: string) => `M 100644 inline ${quote(path)}\n${data(text)}`;
const isEmpty = () => git(['for-each-ref', 'refs/heads/main']) === '';

function commit(author: string, at: string, message: string, cursor: string, changes: string): void {
  const time = `${Math.floor(Date.parse(at) / 1000)} +0000`;
  const name = author.replaceAll(/[<>\n]/g, '');
  const parent = isEmpty() ? '' : 'from refs/heads/main^0\n';
  const head = `commit refs/heads/main\nauthor ${name} <> ${time}\ncommitter memory-service <> ${time}\n`;
  const text = `${message}\n\nMemory-Cursor: ${cursor}\n`;
  git(['fast-import', '--quiet'], `${head}${data(text)}${parent}${changes}\n`);
  console.log(`${name}: ${message}`);
}

/** Commits all files, for a new mirror and for a position that has expired. */
async function resync(cursor: string): Promise<void> {
  const files = await memory.files().readAll('/');
  const changes = files.map(({ path, content }) => write(`/memories${path}`, content));
  const message = `Synchronize ${files.length} files`;
  commit('memory-service', new Date().toISOString(), message, cursor, `deleteall\n${changes.join('')}`);
}

function apply({ type, at, actor, version, cursor, content }: FileEvent): void {
  const { path, previous_path: before } = version;
  // The repository still has the redacted text: rewrite its history, or delete it and start again.
  if (path === null) {
    console.error(`Version ${version.id} was redacted. Remove it from ${repository}.`);
    return;
  }
  const removed = before === null ? '' : `D ${quote(before)}\n`;
  const written = type === 'deleted' || content == null ? '' : write(path, content);
  const author = actor.label || actor.subject || actor.name || actor.job || actor.type;
  commit(author, at, `${type} ${path}`, cursor, removed + written);
}

if (isEmpty()) await resync((await memory.listChanges({ after: 'now', limit: 1 })).cursor);
const after = git(['log', '-1', '--format=%(trailers:key=Memory-Cursor,valueonly)', 'main']);
for await (const change of memory.changes({ after, content: true, resync })) {
  if ('version' in change) apply(change);
}
