import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { importEntries } from '../archive/import.ts';
import { printable, type SourceEntry } from '../archive/source/entry.ts';
import { readFolder } from '../archive/source/folder.ts';
import { readTar } from '../archive/tar.ts';
import type { AuditSubject } from '../audit/audit.ts';
import { OperatorError, ServiceError } from '../errors.ts';
import type { MemoryPath } from '../memory/path.ts';
import { amount } from '../util/amount.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { explain } from './hints.ts';
import { type Io, Progress, print } from './io.ts';
import { operatorOrigin } from './operator.ts';
import { audited, type Open } from './session.ts';
import { type TenantSession, withTenant } from './tenant-session.ts';

interface ImportOptions {
  into?: MemoryPath;
  strip?: number;
  dryRun?: boolean;
}

/** `import`: an archive or a folder into a tenant's memory. */
export function registerImportCommand(program: Command, open: Open, io: Io): void {
  program
    .command('import')
    .description(
      "Import a tar archive or a folder into a tenant's memory. Nothing is imported if anything in it is invalid or already exists. The limits of requests apply. If the tenant has neither files nor a history, the history in the archive is restored.",
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument(
      '<source>',
      'a tar archive or a folder that contains memories/, or - for an archive on standard input',
    )
    .option('--into <path>', 'directory to import into; required for a source without memories/', memoryPath)
    .option('--strip <n>', 'remove this many leading segments from each path in an archive', count)
    .option('--dry-run', 'list what would be imported, without importing it')
    .addHelpText(
      'after',
      `
Examples:
  memory-service import acme acme.tar --dry-run
  memory-service import acme ./agent-data                      (the folder of BetaLocalFilesystemMemoryTool)
  memory-service import acme notes.tar --into /memories/notes
  memory-service import acme globex.tar --strip 1 --into /memories/globex
  gunzip -c acme.tar.gz | memory-service import acme -`,
    )
    .action((tenant: string, source: string, options: ImportOptions) =>
      withTenant(open, tenant, async (session) => {
        const { dryRun } = options;
        try {
          await audited(session.database, 'importMemory', { tenant, dryRun }, (note) =>
            importFrom(session, source, options, io, note),
          );
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          throw new OperatorError(`${explain(error)}\nNothing was imported.`);
        }
      }),
    );
}

function count(value: string): number {
  if (/^\d{1,2}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Use a whole number from 0 to 99.');
}

async function importFrom(
  session: TenantSession,
  source: string,
  options: ImportOptions,
  io: Io,
  note: (subject: AuditSubject) => void,
): Promise<void> {
  const { dryRun = false, into, strip } = options;
  const { tenant } = session;
  const progress = new Progress(io.stderr, 'Checked');
  const imported = await importEntries(session, await openSource(source, options, io), {
    ...{ origin: operatorOrigin(), dryRun, into, strip },
    onChanged: (name, kinds) => {
      progress.end();
      io.stderr.write(`${printable(name)}: masked what looks like a secret (${kinds.join(', ')}).\n`);
    },
    onProgress: (files, bytes) => progress.update(files, bytes),
  }).finally(() => progress.end());
  const { files, bytes, filePaths, directories, versions, historyLeftOut } = imported;
  note({ details: { files, bytes, directories: directories.length, versions } });
  if (dryRun) await print(io.stdout, made(filePaths, directories));
  const verb = dryRun ? 'Would import' : 'Imported';
  const what = `${amount(files, 'file')} (${amount(bytes, 'byte')}) and ${amount(directories.length, 'directory', 'directories')}`;
  const also = versions === null ? '' : `, with ${amount(versions, 'version')}`;
  io.stderr.write(`${verb} ${what} into ${tenant.id}${also}.\n`);
  if (historyLeftOut !== null) {
    io.stderr.write(`The history in the archive was skipped: ${tenant.id} ${historyLeftOut}.\n`);
  }
}

async function openSource(
  source: string,
  { into, strip }: ImportOptions,
  io: Io,
): Promise<AsyncGenerator<SourceEntry>> {
  if (source === '-') {
    if (io.stdin.isTTY)
      throw new OperatorError('Standard input is a terminal. Name an archive, or pipe one into the command.');
    return readTar(io.stdin);
  }
  const found = await stat(source).catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`Cannot read ${source} (${error.code}).`);
  });
  if (!found.isDirectory()) return readTar(createReadStream(source));
  if (strip !== undefined)
    throw new OperatorError('--strip works only with archives. Name the folder itself, and use --into.');
  return readFolder(source, into !== undefined);
}

function* made(files: string[], directories: string[]): Generator<string> {
  for (const path of [...files, ...directories.map((each) => `${each}/`)].sort()) yield `${path}\n`;
}
