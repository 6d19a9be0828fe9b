import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { hasReason, OperatorError } from '../errors.ts';
import { createAt, deleteAt, replaceAt } from '../files/changes.ts';
import { findEntry } from '../files/listing.ts';
import type { MemoryPath } from '../memory/path.ts';
import { memoryPath, tenantId } from './arguments.ts';
import type { Io } from './io.ts';
import { printJson, printLine } from './output.ts';
import { audited, type Open, operatorOrigin, type TenantSession, withTenant } from './session.ts';

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
          const session = { ...opened, origin: operatorOrigin() };
          const { message, action } = await audited(
            { ...opened, io },
            'writeFile',
            { tenant },
            async (note) => {
              const replaced = force ? await replaceAt(session, path, text, 'anything') : undefined;
              const written =
                replaced ??
                (await createAt(session, path, text).catch((error) => explainExisting(error, session, path)));
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
          const session = { ...opened, origin: operatorOrigin() };
          const message = await audited(
            { ...opened, io },
            'deleteFile',
            { tenant, details: { recursive } },
            () => deleteAt(session, path, { recursive, expected: 'anything' }),
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
