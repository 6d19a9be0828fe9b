import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { hasReason, OperatorError } from '../errors/errors.ts';
import { createAt, deleteAt, replaceAt } from '../files/changes.ts';
import { contentAt, contentOf, findEntry, type ListedRow, listed, listedAt } from '../files/listing.ts';
import { DEFAULT_RESULTS, MAX_RESULTS, modes } from '../files/search/query.ts';
import type { Services } from '../files/services.ts';
import type { History } from '../history/history.ts';
import { redactedAt } from '../history/past.ts';
import { amount, formatBytes } from '../lib/units.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { registerExportCommand, registerImportCommand } from './archives.ts';
import { memoryPath, TIME_HELP, tenantId, timeArgument, timesOf } from './arguments.ts';
import { type Io, jsonArray, print } from './io.ts';
import { formatJson, printJson, printLine, shown, time } from './output.ts';
import {
  audited,
  type Open,
  operatorOrigin,
  type TenantSession,
  withServices,
  withTenant,
} from './session.ts';

/** `put` and `rm`: one change, by the rules and limits of requests. */
export function registerChangeCommands(program: Command, open: Open, io: Io): void {
  registerPut(program, open, io);
  registerRm(program, open, io);
}

function registerPut(program: Command, open: Open, io: Io): void {
  program
    .command('put')
    .description(
      "Create a file in a tenant's memory, or replace one with --force. The limits of requests apply.",
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<path>', 'path of the file', memoryPath)
    .argument('[source]', 'local file to read, or - for standard input', '-')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  memory-service put acme /memories/notes.md notes.md
  echo 'Be brief.' | memory-service put acme /memories/style.md --force`,
    )
    .action(
      async (
        tenant: string,
        path: MemoryPath,
        source: string,
        { force = false, json }: { force?: boolean; json?: boolean },
      ) => {
        const text = await readText(source, io);
        await withTenant(open, tenant, async (opened) => {
          const put = async (services: Services) => {
            const session = { services, tenant: opened.tenant, origin: operatorOrigin() };
            const replaced = force ? await replaceAt(session, path, text, 'anything') : undefined;
            return (
              replaced ??
              (await createAt(session, path, text).catch((error) => explainExisting(error, opened, path)))
            );
          };
          const { message, action } = await audited(
            { ...opened, io },
            'writeFile',
            { tenant },
            async (note) => {
              const written = await withServices(opened, put);
              note({ details: { file: written.action } });
              return written;
            },
          );
          report(message, { path, action }, json ?? false, io);
        });
      },
    );
}

/** Says how to replace what is at the path, if that is a file. */
async function explainExisting(
  error: unknown,
  { database, tenant }: TenantSession,
  path: MemoryPath,
): Promise<never> {
  if (!hasReason(error, 'path_exists')) throw error;
  if ((await findEntry(database, tenant.id, path))?.kind !== 'file') throw error;
  throw new OperatorError(`${error.message} Add --force to replace it.`);
}

function registerRm(program: Command, open: Open, io: Io): void {
  program
    .command('rm')
    .description('Delete a file, or with --recursive a directory and everything below it.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<path>', 'path of the file or directory', memoryPath)
    .option('-r, --recursive', 'delete a directory and everything below it')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  memory-service rm acme /memories/notes.md
  memory-service rm acme /memories/projects --recursive`,
    )
    .action(
      (
        tenant: string,
        path: MemoryPath,
        { recursive = false, json }: { recursive?: boolean; json?: boolean },
      ) =>
        withTenant(open, tenant, async (opened) => {
          const message = await audited(
            { ...opened, io },
            'deleteFile',
            { tenant, details: { recursive } },
            () =>
              withServices(opened, (services) => {
                const session = { services, tenant: opened.tenant, origin: operatorOrigin() };
                return deleteAt(session, path, { recursive, expected: 'anything' });
              }),
          );
          report(message, { path, action: 'deleted' }, json ?? false, io);
        }),
    );
}

function report(message: string, done: { path: MemoryPath; action: string }, json: boolean, io: Io): void {
  if (json) printJson(io.stdout, { ...done, message });
  else printLine(io.stdout, message);
}

/** @throws OperatorError when it cannot be read, or is not UTF-8. */
async function readText(source: string, { stdin }: Io): Promise<string> {
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

interface SearchOptions {
  mode: string;
  path: MemoryPath;
  limit: number;
  at?: string;
  json?: boolean;
}

/** `search`: finds files by their contents and paths, as the tool `memory_search` does. */
export function registerSearchCommand(program: Command, open: Open, io: Io): void {
  program
    .command('search')
    .description('Find files by words, a literal text, or a regular expression.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<query>', 'what to look for')
    .addOption(
      new Option('--mode <mode>', 'words (best matches first), literal, or regex (RE2 syntax)')
        .choices(modes)
        .default('words'),
    )
    .option('--path <path>', 'the directory or file to search', memoryPath, ROOT)
    .option(
      '--limit <number>',
      `maximum number of lines, up to ${MAX_RESULTS}`,
      limitArgument,
      DEFAULT_RESULTS,
    )
    .option('--at <time>', 'as of this time', timeArgument)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${TIME_HELP}\n\nExamples:\n  memory-service search acme 'staging password'\n  memory-service search acme --mode regex 'v[0-9]+\\.[0-9]+' --path /memories/projects --at 2d`,
    )
    .action((tenant: string, query: string, { json, path, mode, limit, ...options }: SearchOptions) =>
      withTenant(open, tenant, async ({ database, tenant: row }) => {
        // Imported on demand: no other command searches.
        const { MemorySearch } = await import('../files/search/search.ts');
        const { searchForOperator } = await import('../files/search/operator-search.ts');
        const search = new MemorySearch();
        try {
          const { at } = await timesOf(database, options);
          const input = { query, mode, path, max_results: limit };
          const { content, matches, more } = await searchForOperator(search, database, {
            tenant: row,
            input,
            at,
          });
          await print(io.stdout, [json ? formatJson({ matches, more }) : `${shown(io.stdout, content)}\n`]);
        } finally {
          await search.close();
        }
      }),
    );
}

function limitArgument(value: string): number {
  if (/^\d{1,3}$/.test(value) && Number(value) >= 1 && Number(value) <= MAX_RESULTS) return Number(value);
  throw new InvalidArgumentError(`Use a number from 1 to ${MAX_RESULTS}.`);
}

/** `ls`, `cat`, `search`, `put`, `rm`, `export`, and `import`: an operator's access to the memory of one tenant. */
export function registerMemoryCommands(program: Command, open: Open, io: Io = process): void {
  registerLs(program, open, io);
  registerCat(program, open, io);
  registerSearchCommand(program, open, io);
  registerChangeCommands(program, open, io);
  registerExportCommand(program, open, io);
  registerImportCommand(program, open, io);
}

function registerLs(program: Command, open: Open, io: Io): void {
  program
    .command('ls')
    .description(
      'List the files and directories at a path and below it, with their sizes and times of the last change.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('[path]', 'the file or directory to list', memoryPath, ROOT)
    .option('--at <time>', 'as of this time', timeArgument)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${TIME_HELP}\n\nExamples:\n  memory-service ls acme /memories/projects\n  memory-service ls acme --at 2d`,
    )
    .action((tenant: string, path: MemoryPath, { json, ...options }: { at?: string; json?: boolean }) =>
      withTenant(open, tenant, async ({ database, history }) => {
        const { at } = await timesOf(database, options);
        const rows = at === undefined ? listed(database, tenant, path) : listedAt(history, tenant, path, at);
        await print(io.stdout, json ? jsonArray(records(rows)) : lines(rows));
        if (at !== undefined) await tellRedacted(history, tenant, at, io);
      }),
    );
}

function registerCat(program: Command, open: Open, io: Io): void {
  program
    .command('cat')
    .description(
      'Print the content of a file, byte for byte. On a terminal, control characters are shown as <U+001B>.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<path>', 'the file', memoryPath)
    .option('--at <time>', 'as of this time', timeArgument)
    .option('--raw', 'print the bytes unchanged even on a terminal')
    .addHelpText(
      'after',
      `${TIME_HELP}\n\nExamples:\n  memory-service cat acme /memories/notes.md\n  memory-service cat acme /memories/notes.md --at 90m`,
    )
    .action((tenant: string, path: MemoryPath, { raw, ...options }: { at?: string; raw?: boolean }) =>
      withTenant(open, tenant, async ({ database, history }) => {
        const { at } = await timesOf(database, options);
        const content =
          at === undefined
            ? await contentOf(database, tenant, path)
            : await contentAt(history, tenant, path, at);
        await print(io.stdout, [raw ? content : shown(io.stdout, content)]);
      }),
    );
}

/** Says how many files of that time are left out, because they have no path any more. */
async function tellRedacted(history: History, tenant: string, at: string, io: Io): Promise<void> {
  const redacted = (await redactedAt(history, tenant, at)).length;
  if (redacted > 0) io.stderr.write(`Omitted because redacted since: ${amount(redacted, 'file')}.\n`);
}

const modifiedAt = ({ modified }: ListedRow) => time(new Date(modified * 1000));

async function* records(rows: AsyncIterable<ListedRow>) {
  for await (const row of rows) {
    yield { path: row.path, kind: row.kind, bytes: row.bytes, modifiedAt: modifiedAt(row) };
  }
}

const SIZE_WIDTH = 8;
const HEAD = `${'SIZE'.padStart(SIZE_WIDTH)}  ${'MODIFIED'.padEnd(20)}  PATH\n`;

async function* lines(rows: AsyncIterable<ListedRow>): AsyncGenerator<string> {
  // With the first row, because an error may come instead of it.
  let head = HEAD;
  for await (const row of rows) {
    const isDirectory = row.kind === 'dir';
    const size = row.bytes === null ? '-' : formatBytes(row.bytes);
    yield `${head}${size.padStart(SIZE_WIDTH)}  ${modifiedAt(row)}  ${row.path}${isDirectory ? '/' : ''}\n`;
    head = '';
  }
  yield head;
}
