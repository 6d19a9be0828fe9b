import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { deleteFile, listTree, readFile as readMemoryFile, writeFile } from '../admin/memory-operations.ts';
import { hasReason, OperatorError } from '../errors/errors.ts';
import { amount, formatBytes } from '../lib/units.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { memoryPath, TIME_HELP, tenantId, timeArgument } from './arguments.ts';
import { type Caller, iteratePages } from './caller.ts';
import { type Cli, type CliCommand, command } from './cli-command.ts';
import { type Io, jsonArray, print } from './io.ts';
import { sanitizeForTerminal, time } from './output.ts';

export const putCommand = (cli: Cli) =>
  command(
    cli,
    'put',
    "Create a file in a tenant's memory, or replace one with --force. The limits of requests apply.",
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<path>', 'path of the file', memoryPath)
    .argument('[source]', 'local file to read, or - for standard input', '-')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print JSON')
    .examples(
      'memory-service put acme /memories/notes.md notes.md',
      "echo 'Be brief.' | memory-service put acme /memories/style.md --force",
    )
    .action(
      async (
        tenant: string,
        path: MemoryPath,
        source: string,
        { force = false }: { force?: boolean },
        command: CliCommand,
      ) => {
        const text = await readText(source, cli.io);
        return command.runConnected(async ({ caller }) => {
          const isFile = force && (await findKind(caller, tenant, path)) === 'file';
          const headers = isFile ? { 'if-match': '*' } : { 'if-none-match': '*' };
          const { message, action } = await caller
            .call(writeFile, { params: { tenant }, query: { path }, headers, body: text })
            .catch((error) => explainExisting(error, caller, tenant, path));
          return { json: { path, action, message }, text: message };
        });
      },
    );

/** Returns the kind of entry at a path, or undefined if the path is free. */
export async function findKind(
  caller: Caller,
  tenant: string,
  path: MemoryPath,
): Promise<'file' | 'directory' | undefined> {
  try {
    const { entries } = await caller.call(listTree, { params: { tenant }, query: { path, limit: 1 } });
    return entries[0]?.path === path ? entries[0].kind : undefined;
  } catch (error) {
    if (hasReason(error, 'nothing_at')) return undefined;
    throw error;
  }
}

/** Adds a hint to the error from `put` if a file exists at the path. */
async function explainExisting(
  error: unknown,
  caller: Caller,
  tenant: string,
  path: MemoryPath,
): Promise<never> {
  if (!hasReason(error, 'path_exists')) throw error;
  if ((await findKind(caller, tenant, path)) !== 'file') throw error;
  throw new OperatorError(`${error.message} Add --force to replace it.`);
}

export const rmCommand = (cli: Cli) =>
  command(cli, 'rm', 'Delete a file, or with --recursive a directory and everything below it.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<path>', 'path of the file or directory', memoryPath)
    .option('-r, --recursive', 'delete a directory and everything below it')
    .option('--json', 'print JSON')
    .examples(
      'memory-service rm acme /memories/notes.md',
      'memory-service rm acme /memories/projects --recursive',
    )
    .run(
      async (
        { caller },
        tenant: string,
        path: MemoryPath,
        { recursive = false }: { recursive?: boolean },
      ) => {
        const input = { params: { tenant }, query: { path, recursive }, headers: { 'if-match': '*' } };
        const { message } = await caller.call(deleteFile, input);
        return { json: { path, action: 'deleted', message }, text: message };
      },
    );

/** @throws OperatorError if the source cannot be read or is not UTF-8 */
export async function readText(source: string, { stdin }: Io): Promise<string> {
  if (source === '-' && stdin.isTTY) {
    throw new OperatorError(
      'Standard input is a terminal. Name a file, or pipe the content into the command.',
    );
  }
  const bytes =
    source === '-'
      ? await buffer(stdin)
      : await readFile(source).catch((error: NodeJS.ErrnoException) => {
          throw new OperatorError(`Cannot read ${source} (${error.code}).`);
        });
  if (isUtf8(bytes)) return bytes.toString();
  throw new OperatorError('The content is not UTF-8 text. A memory stores only text.');
}

export const lsCommand = (cli: Cli) =>
  command(
    cli,
    'ls',
    'List the files and directories at a path and below it, with their sizes and times of the last change.',
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('[path]', 'the file or directory to list', memoryPath, ROOT)
    .option('--at <time>', 'as of this time', timeArgument)
    .option('--json', 'print JSON')
    .addHelpText('after', TIME_HELP)
    .examples('memory-service ls acme /memories/projects', 'memory-service ls acme --at 2d')
    .run(
      async (
        { caller, io },
        tenant: string,
        path: MemoryPath,
        { json, at }: { at?: string; json?: boolean },
      ) => {
        let redacted = 0;
        async function* entries() {
          // The first page sets the time, so that all pages show the same state.
          let time = at;
          const pages = iteratePages((after) =>
            caller.call(listTree, { params: { tenant }, query: { path, at: time, limit: PAGE, after } }),
          );
          for await (const page of pages) {
            time = page.at ?? undefined;
            redacted = page.redacted ?? 0;
            yield* page.entries;
          }
        }
        await print(io.stdout, json ? jsonArray(records(entries())) : lines(entries()));
        if (redacted > 0) io.stderr.write(`Omitted because redacted since: ${amount(redacted, 'file')}.\n`);
      },
    );

export const catCommand = (cli: Cli) =>
  command(
    cli,
    'cat',
    'Print the content of a file, byte for byte. On a terminal, control characters are shown as <U+001B>.',
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<path>', 'the file', memoryPath)
    .option('--at <time>', 'as of this time', timeArgument)
    .option('--raw', 'print the bytes unchanged even on a terminal')
    .addHelpText('after', TIME_HELP)
    .examples(
      'memory-service cat acme /memories/notes.md',
      'memory-service cat acme /memories/notes.md --at 90m',
    )
    .run(
      async (
        { caller, io },
        tenant: string,
        path: MemoryPath,
        { raw, at }: { at?: string; raw?: boolean },
      ) => {
        const { content } = await caller.call(readMemoryFile, { params: { tenant }, query: { path, at } });
        await print(io.stdout, [raw ? content : sanitizeForTerminal(io.stdout, content)]);
      },
    );

const PAGE = 1000;

type Entry = Awaited<ReturnType<typeof listTree.run>>['entries'][number];

async function* records(entries: AsyncIterable<Entry>) {
  for await (const { path, kind, size_bytes: bytes, modified_at: modified } of entries) {
    yield { path, kind: kind === 'directory' ? 'dir' : kind, bytes, modified_at: time(modified) };
  }
}

const SIZE_WIDTH = 8;
const HEAD = `${'SIZE'.padStart(SIZE_WIDTH)}  ${'MODIFIED'.padEnd(20)}  PATH\n`;

async function* lines(entries: AsyncIterable<Entry>): AsyncGenerator<string> {
  // The head is printed with the first entry, because an error may occur before any entry.
  let head = HEAD;
  for await (const { path, kind, size_bytes: bytes, modified_at: modified } of entries) {
    const size = bytes === null ? '-' : formatBytes(bytes);
    yield `${head}${size.padStart(SIZE_WIDTH)}  ${time(modified)}  ${path}${kind === 'directory' ? '/' : ''}\n`;
    head = '';
  }
  yield head;
}
