import type { Command } from 'commander';
import { contentAt, contentOf, type ListedRow, listed, listedAt } from '../files/listing.ts';
import type { History } from '../history/history.ts';
import { redactedAt } from '../history/past.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { amount } from '../util/amount.ts';
import { formatBytes } from '../util/size.ts';
import { registerExportCommand, registerImportCommand } from './archive-commands.ts';
import { memoryPath, TIME_HELP, tenantId, timeArgument, timesOf } from './arguments.ts';
import { registerChangeCommands } from './change-commands.ts';
import { type Io, jsonArray, print } from './io.ts';
import { shown, time } from './output.ts';
import { registerSearchCommand } from './search-command.ts';
import { type Open, withTenant } from './session.ts';

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
