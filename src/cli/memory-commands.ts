import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import type { ListedRow } from '../transfer/queries.ts';
import type { Transfer } from '../transfer/transfer.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { registerChangeCommands } from './change-commands.ts';
import { registerExportCommand } from './export-command.ts';
import { TIME_HELP, timeArgument } from './history-arguments.ts';
import { registerImportCommand } from './import-command.ts';
import { type Io, jsonArray, print } from './io.ts';
import { time } from './output.ts';
import { contentAt, listedAt, tellRedacted } from './past.ts';
import type { Open } from './session.ts';
import { withTenant } from './tenant-session.ts';

/** `ls`, `cat`, `put`, `rm`, `export` and `import`: an operator's way to the memory of one tenant. */
export function registerMemoryCommands(program: Command, open: Open, io: Io = process): void {
  registerLs(program, open, io);
  registerCat(program, open, io);
  registerChangeCommands(program, open, io);
  registerExportCommand(program, open, io);
  registerImportCommand(program, open, io);
}

function registerLs(program: Command, open: Open, io: Io): void {
  program
    .command('ls')
    .description(
      "List a tenant's memory, or what is at a path and below it: bytes, time of the last change, path.",
    )
    .argument('<tenant>', 'its id', tenantId)
    .argument('[path]', 'where to begin', memoryPath, ROOT)
    .option('--at <time>', 'as it was then', timeArgument)
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `${TIME_HELP}\n\nExamples:\n  memory-service ls acme /memories/projects\n  memory-service ls acme --at 2d`,
    )
    .action((tenant: string, path: MemoryPath, { at, json }: { at?: string; json?: boolean }) =>
      withTenant(open, tenant, async ({ transfer, history }) => {
        const rows = at === undefined ? listed(transfer, tenant, path) : listedAt(history, tenant, path, at);
        if (at !== undefined) await tellRedacted(history, tenant, at, io);
        await print(io.stdout, json ? jsonArray(records(rows)) : lines(rows));
      }),
    );
}

function registerCat(program: Command, open: Open, io: Io): void {
  program
    .command('cat')
    .description('Write the content of a file, byte for byte.')
    .argument('<tenant>', 'its id', tenantId)
    .argument('<path>', 'the file', memoryPath)
    .option('--at <time>', 'as it was then', timeArgument)
    .addHelpText(
      'after',
      `${TIME_HELP}\n\nExamples:\n  memory-service cat acme /memories/notes.md\n  memory-service cat acme /memories/notes.md --at 90m`,
    )
    .action((tenant: string, path: MemoryPath, { at }: { at?: string }) =>
      withTenant(open, tenant, async ({ transfer, history }) => {
        if (at !== undefined) {
          await print(io.stdout, [await contentAt(history, tenant, path, at)]);
          return;
        }
        const found = await transfer.find(tenant, path);
        if (found?.kind === 'dir' || (found === undefined && path === ROOT)) {
          throw new OperatorError(
            `${path} is a directory. List it with: memory-service ls ${tenant} ${path}`,
          );
        }
        if (found === undefined) throw nothingAt(tenant, path);
        await print(io.stdout, [found.content]);
      }),
    );
}

async function* listed(transfer: Transfer, tenant: string, path: MemoryPath): AsyncGenerator<ListedRow> {
  // The root of a memory that nothing was written to is there, and no row says so.
  let found = path === ROOT;
  for await (const row of transfer.list(tenant, path)) {
    found = true;
    yield row;
  }
  if (!found) throw nothingAt(tenant, path);
}

function nothingAt(tenant: string, path: MemoryPath): OperatorError {
  return new OperatorError(`There is nothing at ${path}. See what there is: memory-service ls ${tenant}`);
}

const modifiedAt = ({ modified }: ListedRow) => time(new Date(modified * 1000));

async function* records(rows: AsyncIterable<ListedRow>) {
  for await (const row of rows) {
    yield { path: row.path, kind: row.kind, bytes: row.bytes, modifiedAt: modifiedAt(row) };
  }
}

const BYTES_WIDTH = 11;
const HEAD = `${'BYTES'.padStart(BYTES_WIDTH)}  ${'MODIFIED'.padEnd(20)}  PATH\n`;

async function* lines(rows: AsyncIterable<ListedRow>): AsyncGenerator<string> {
  // Not before the first row: there may be an error instead.
  let head = HEAD;
  for await (const row of rows) {
    const isDirectory = row.kind === 'dir';
    const bytes = isDirectory ? '-' : String(row.bytes);
    yield `${head}${bytes.padStart(BYTES_WIDTH)}  ${modifiedAt(row)}  ${row.path}${isDirectory ? '/' : ''}\n`;
    head = '';
  }
  yield head;
}
