import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { Option } from 'commander';
import { getTenant } from '../../../core/admin/tenant-operations.ts';
import { listVersions } from '../../../core/admin/version-operations.ts';
import { tenantId } from '../../../core/cli/arguments.ts';
import { type Caller, iteratePages } from '../../../core/cli/caller.ts';
import { type Cli, type CliCommand, command } from '../../../core/cli/cli-command.ts';
import { type Io, Progress } from '../../../core/cli/io.ts';
import { printLine } from '../../../core/cli/output.ts';
import { OperatorError } from '../../../core/errors/errors.ts';
import { type MemoryPath, ROOT } from '../../../core/memory/path.ts';
import { exportMemory } from '../archive-operations.ts';
import { escapeInvisible } from '../entry.ts';
import { spoolArchive } from '../export.ts';
import { HostedClient, HostedStoreError } from '../hosted/hosted-client.ts';
import { HostedStore } from '../hosted/hosted-store.ts';
import { createStore, findCreatedStore, memoriesByPath, type PushAction, planPush } from '../hosted/push.ts';
import { readTar } from '../tar.ts';

/** Yields a tenant's files as they were at one time, with their contents' SHA-256 in hexadecimal. */
export async function* tenantFiles(
  caller: Caller,
  tenant: string,
): AsyncGenerator<{ path: MemoryPath; content: string; sha256: string }> {
  const memory = await caller.call(exportMemory, { params: { tenant }, query: {} });
  // The consumer may read slowly, and an admin API disconnects slow readers after seconds. The archive is therefore
  // stored in a temporary file.
  const { content: archive } = await spoolArchive((output) => memory.writeTo(output, { end: true }));
  for await (const { name, kind, content } of readTar(archive)) {
    if (kind === 'dir') continue;
    const bytes = await buffer(content);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    yield { path: `/${name}` as MemoryPath, content: bytes.toString(), sha256 };
  }
}

/** Shortest pause that is reported to the user. */
const SHOWN_PAUSE_MS = 2000;
/** Limit on the paths listed in a message. */
const LISTED = 20;

export const storeUrlOption = () =>
  new Option('--store-url <url>', 'base URL of the store').default(
    process.env.ANTHROPIC_BASE_URL ?? 'https://api.anthropic.com',
  );

/** Creates a client with the key in `ANTHROPIC_API_KEY`. An option would reveal the key in the process list. */
export function hostedClient(url: string, io: Io): HostedClient {
  const key = process.env.ANTHROPIC_API_KEY;
  if (key === undefined || key === '')
    throw new OperatorError('Set ANTHROPIC_API_KEY to a key for the store.');
  // Messages show the URL, so the URL must not contain a password.
  if (!/^https?:\/\/[^@?#]+$/.test(url) || !URL.canParse(url)) {
    throw new OperatorError(
      'The URL of the store (--store-url, ANTHROPIC_BASE_URL) must be an http(s) URL without a user, a password, and a query.',
    );
  }
  return new HostedClient(url, key, (milliseconds, why) => {
    if (milliseconds < SHOWN_PAUSE_MS) return;
    io.stderr.write(`Trying again in ${Math.round(milliseconds / 1000)} seconds (${why}).\n`);
  });
}

/** Returns an error handler that adds advice to a hosted store's errors. */
export function explainHosted(advice: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof HostedStoreError ? new OperatorError(`${error.message}\n${advice}`) : error;
  };
}

/** Formats paths as lines, up to a maximum number. */
export function joinPaths(paths: readonly string[]): string {
  const lines = paths.slice(0, LISTED).map((path) => `\n  ${escapeInvisible(path)}`);
  return lines.join('') + (paths.length > LISTED ? `\n  and ${paths.length - LISTED} more` : '');
}

interface PushOptions {
  toStore?: string;
  /** The new store's name. True means the tenant's name. */
  createStore?: string | true;
  storeUrl: string;
  overwrite?: boolean;
  dryRun?: boolean;
}

export const pushCommand = (cli: Cli) =>
  command(
    cli,
    'push',
    "Write a tenant's files to a hosted memory store: create missing memories and update outdated ones, without deletions. Memories that were changed in the store are left unchanged and listed, and so are files that the store rejects. After an interruption, run it again: identical files are skipped.",
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--to-store <id>', 'the store, written with the key in ANTHROPIC_API_KEY')
    .option(
      '--create-store [name]',
      'instead: create a store, named after the tenant by default. A repeated run continues with the store that it created',
    )
    .addOption(storeUrlOption())
    .option('--overwrite', 'also replace memories that were changed in the store')
    .option('--dry-run', 'list the files to write, without writing them')
    .examples(
      'memory-service push acme --to-store memstore_01ABC --dry-run',
      'memory-service push acme --create-store "Notes of Acme"',
    )
    .action((tenant: string, options: PushOptions, command: CliCommand) => {
      if ((options.toStore === undefined) === (options.createStore === undefined))
        throw new OperatorError('Push requires --to-store or --create-store, not both.');
      return command.runConnected(async ({ caller, io }) => {
        const record = await caller.call(getTenant, { params: { tenant } });
        const client = hostedClient(options.storeUrl, io);
        const work = async () => {
          const id = options.toStore ?? (await createdStore(record, client, options, io));
          await push(caller, tenant, id === undefined ? undefined : new HostedStore(client, id), options, io);
        };
        await work().catch(explainHosted('The push is not complete. Run the command again to go on.'));
      });
    });

/**
 * Returns the ID of the store that this push or an earlier push created. Undefined in a dry run without an existing
 * store.
 */
async function createdStore(
  { id: tenant, created_at: createdAt, ...details }: Awaited<ReturnType<typeof getTenant.run>>,
  client: HostedClient,
  { createStore: given, dryRun }: PushOptions,
  io: Io,
): Promise<string | undefined> {
  const name = typeof given === 'string' ? given : details.name;
  const store = {
    name,
    description: details.description,
    metadata: details.metadata,
    // The creation time distinguishes tenants with the same ID in other services.
    tenant: `${tenant} ${createdAt}`,
  };
  const earlier = await findCreatedStore(client, store);
  if (earlier !== undefined) {
    printLine(io.stderr, `Continuing with ${earlier}, which an earlier push created.`);
    return earlier;
  }
  if (dryRun) {
    printLine(io.stdout, `create the store ${name}`);
    return undefined;
  }
  const id = await createStore(client, store);
  printLine(io.stderr, `Created the store ${id}.`);
  return id;
}

const WORDS: Record<PushAction, string> = {
  unchanged: 'keep',
  create: 'create',
  update: 'update',
  changed: 'overwrite',
};

/** @param store undefined for a store that a dry run does not create */
async function push(
  caller: Caller,
  tenant: string,
  store: HostedStore | undefined,
  { dryRun = false, overwrite = false }: PushOptions,
  io: Io,
): Promise<void> {
  const there = store === undefined ? new Map() : await memoriesByPath(store);
  const progress = new Progress(io.stderr, 'Compared');
  const done: Record<PushAction, number> = { unchanged: 0, create: 0, update: 0, changed: 0 };
  const leftAlone: string[] = [];
  const rejected: string[] = [];
  let files = 0;
  let bytes = 0;
  try {
    for await (const { path, ...content } of tenantFiles(caller, tenant)) {
      const file = { path: path.slice(ROOT.length), ...content };
      const found = there.get(file.path);
      const action = await planPush(file, found, (sha256) => hadContent(caller, tenant, path, sha256));
      if (action === 'changed' && !overwrite) leftAlone.push(file.path);
      else if (action === 'unchanged') done.unchanged++;
      else if (dryRun) {
        progress.end();
        printLine(io.stdout, `${WORDS[action]} ${file.path}`);
        done[action]++;
      } else {
        const outcome = await store?.write(file, found);
        if (outcome?.kind === 'written') done[action]++;
        else if (outcome?.kind === 'rejected') rejected.push(`${file.path}: ${outcome.reason}`);
        else leftAlone.push(file.path);
      }
      bytes += Buffer.byteLength(file.content);
      progress.update(++files, bytes);
    }
  } finally {
    progress.end();
  }
  const counts = [
    `${done.create} ${dryRun ? 'to create' : 'created'}`,
    `${done.update} ${dryRun ? 'to update' : 'updated'}`,
    `${done.unchanged} unchanged`,
  ];
  if (overwrite) counts.push(`${done.changed} ${dryRun ? 'to overwrite' : 'overwritten'}`);
  printLine(io.stderr, `Memories: ${counts.join(', ')}.`);
  const problems: string[] = [];
  if (leftAlone.length > 0) {
    problems.push(
      `These were changed in the store, or are blocked by other memories, and were left unchanged. To replace changed ones, add --overwrite:${joinPaths(leftAlone)}`,
    );
  }
  if (rejected.length > 0) problems.push(`The store rejected these:${joinPaths(rejected)}`);
  if (problems.length > 0) throw new OperatorError(problems.join('\n'));
}

/** Whether the file at a path, or an earlier file at the path, ever had this content. */
async function hadContent(
  caller: Caller,
  tenant: string,
  path: MemoryPath,
  sha256: string,
): Promise<boolean> {
  const pages = iteratePages((after) =>
    caller.call(listVersions, { params: { tenant }, query: { path, limit: 200, after } }),
  );
  let memoryId: string | undefined;
  for await (const { versions } of pages) {
    memoryId ??= versions.find((version) => version.path === path)?.memory_id;
    const isFileVersion = (version: (typeof versions)[number]) =>
      version.path === path || version.memory_id === memoryId;
    if (versions.some((version) => version.content_sha256 === sha256 && isFileVersion(version))) return true;
  }
  return false;
}
