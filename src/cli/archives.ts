import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { type Command, InvalidArgumentError } from 'commander';
import { printable, type SourceEntry } from '../archive/entry.ts';
import { exportArchive, type Total } from '../archive/export.ts';
import { readFolder } from '../archive/folder.ts';
import { importEntries } from '../archive/import.ts';
import { readTar } from '../archive/tar.ts';
import { hasReason, OperatorError, ServiceError } from '../errors/errors.ts';
import { amount, byteAmount } from '../lib/units.ts';
import type { MemoryPath } from '../memory/path.ts';
import type { AuditSubject } from '../tenants/audit.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { explain } from './hints.ts';
import { type HostedOptions, openHosted, storeUrlOption } from './hosted.ts';
import { type Io, Progress, print } from './io.ts';
import { printJson } from './output.ts';
import { audited, type Open, operatorOrigin, type TenantSession, withTenant } from './session.ts';

/** `export`: a tenant's memory as a tar archive. */
export function registerExportCommand(program: Command, openSession: Open, io: Io): void {
  program
    .command('export')
    .description(
      "Export a tenant's memory, as of one moment, as a tar archive that contains a folder memories/.",
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--history', 'include the history of the files, which import restores in an empty tenant')
    .option('--output <file>', 'file to write instead of standard output')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'with --output: print a summary as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  memory-service export acme --output acme.tar\n  memory-service export acme | tar -xf -\n  memory-service export acme --history --output acme.tar',
    )
    .action((tenant: string, options: ExportOptions, command: Command) => {
      const { output, force = false, json, history = false } = options;
      if (json && output === undefined) command.error('error: --json works only with --output <file>');
      return withTenant(openSession, tenant, async (session) => {
        if (output !== undefined) {
          const { files, bytes, versions } = await exportToFile(session, output, { force, history }, io);
          if (json) {
            return printJson(io.stdout, { tenant, output, files, bytes, ...(history && { versions }) });
          }
          const also = versions === null ? '' : `, with ${amount(versions, 'version')}`;
          io.stderr.write(
            `Exported ${amount(files, 'file')} (${byteAmount(bytes)}) of ${tenant} to ${output}${also}.\n`,
          );
          return;
        }
        if (io.stdout.isTTY) {
          throw new OperatorError(
            'Standard output is a terminal. Write the archive to a file with --output <file>, or to a pipe.',
          );
        }
        await exportTo(session, io.stdout, { end: false, history }, io);
      });
    });
}

interface ExportOptions {
  output?: string;
  force?: boolean;
  json?: boolean;
  history?: boolean;
}

async function exportTo(
  { database, tenant }: TenantSession,
  output: Writable,
  { end, history }: { end: boolean; history: boolean },
  io: Io,
): Promise<Total> {
  const progress = new Progress(io.stderr, 'Exported');
  const onFile = ({ files, bytes }: Total) => progress.update(files, bytes);
  const total = await exportArchive(database, tenant.id, output, { end, history, onFile }).finally(() =>
    progress.end(),
  );
  if (total.actedUpon !== null) {
    io.stderr.write(
      `Warning: the archive contains ${total.actedUpon}. Such files can name commands that git or hg runs in the unpacked folder. Review or remove them before you use either there.\n`,
    );
  }
  return total;
}

/**
 * Writes under a temporary name until the archive is complete, so that a failed export cannot be mistaken for one and
 * keeps the previous one.
 */
async function exportToFile(
  session: TenantSession,
  file: string,
  { force, history }: { force: boolean; history: boolean },
  io: Io,
): Promise<Total> {
  const existing = await stat(file).catch(() => undefined);
  // Write to a device or a pipe directly.
  const isSpecial = existing !== undefined && !existing.isFile();
  if (existing?.isDirectory()) throw new OperatorError(`${file} is a directory. Choose a file.`);
  if (existing?.isFile() && !force) {
    throw new OperatorError(`${file} already exists. Add --force to replace it.`);
  }
  const unfinished = isSpecial ? file : `${file}.unfinished`;
  if (!isSpecial) await rm(unfinished, { force: true }).catch(cannotWrite(file));
  // Readable by this user only: memories are private.
  const handle = await open(unfinished, isSpecial ? 'w' : 'wx', 0o600).catch(cannotWrite(file));
  try {
    const total = await exportTo(session, handle.createWriteStream(), { end: true, history }, io);
    if (!isSpecial) await rename(unfinished, file).catch(cannotWrite(file));
    return total;
  } catch (error) {
    if (!isSpecial) await rm(unfinished, { force: true });
    throw error;
  }
}

const REASONS: Record<string, string> = {
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'its folder is a file',
  EACCES: 'permission is denied',
  EROFS: 'the file system is read-only',
};

function cannotWrite(file: string): (error: NodeJS.ErrnoException) => never {
  return ({ code = '' }) => {
    throw new OperatorError(
      `Cannot write ${file}: ${REASONS[code] ?? 'the system does not allow it'} (${code}).`,
    );
  };
}

interface ImportOptions extends HostedOptions {
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
      '[source]',
      'a tar archive or a folder that contains memories/, or - for an archive on standard input',
    )
    .option('--into <path>', 'directory to import into; required for a source without memories/', memoryPath)
    .option('--strip <n>', 'remove this many leading segments from each path in an archive', count)
    .option(
      '--from-store <id>',
      'instead of a source: a hosted memory store with its versions, read with the key in ANTHROPIC_API_KEY. After an interruption, run it again: what is identical is skipped, and what differs is left unchanged',
    )
    .option('--no-history', 'with --from-store: only the memories, not their versions')
    .addOption(storeUrlOption())
    .option('--dry-run', 'list what would be imported, without importing it')
    .addHelpText(
      'after',
      `
Examples:
  memory-service import acme acme.tar --dry-run
  memory-service import acme ./agent-data                      (the folder of BetaLocalFilesystemMemoryTool)
  memory-service import acme notes.tar --into /memories/notes
  memory-service import acme globex.tar --strip 1 --into /memories/globex
  gunzip -c acme.tar.gz | memory-service import acme -
  memory-service import acme --from-store memstore_01ABC --dry-run`,
    )
    .action((tenant: string, source: string | undefined, options: ImportOptions) =>
      withTenant(open, tenant, async (session) => {
        const { dryRun } = options;
        try {
          const from = await openSource(session, source, options, io);
          const subject = { tenant, dryRun, details: from.hosted?.details ?? {} };
          await audited({ database: session.database, io }, 'importMemory', subject, (note) =>
            importFrom(session, from, options, io, note),
          );
          from.hosted?.report();
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          throw new OperatorError(`${explain(error)}\nNothing was imported.`);
        }
      }).catch((error) => {
        if (!hasReason(error, 'no_such_tenant')) throw error;
        throw new OperatorError(
          `${explain(error)}, or create it: memory-service tenants create ${tenant}\nNothing was imported.`,
        );
      }),
    );
}

function count(value: string): number {
  if (/^\d{1,2}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Use a whole number from 0 to 99.');
}

/** What is imported; `hosted` for a hosted store. */
interface Source {
  entries: AsyncIterable<SourceEntry>;
  hosted?: Awaited<ReturnType<typeof openHosted>>;
}

async function importFrom(
  session: TenantSession,
  { entries, hosted }: Source,
  { dryRun = false, into, strip }: ImportOptions,
  io: Io,
  note: (subject: AuditSubject) => void,
): Promise<void> {
  const { tenant } = session;
  const progress = new Progress(io.stderr, 'Checked');
  const importing = importEntries(session, entries, {
    // The names of a hosted store's entries begin with memories/.
    origin: operatorOrigin(),
    dryRun,
    into,
    strip: hosted && into ? 1 : strip,
    onChanged: (name, kinds) => {
      progress.end();
      io.stderr.write(`${printable(name)}: masked what looks like a secret (${kinds.join(', ')}).\n`);
    },
    onProgress: (files, bytes) => {
      // Versions are shown as they are read.
      if (!hosted?.withVersions) progress.update(files, bytes);
    },
  }).finally(() => progress.end());
  const imported = await (hosted?.explained(importing) ?? importing);
  if (imported === undefined) return;
  const { files, bytes, filePaths, directories, versions, historyLeftOut } = imported;
  note({ details: { files, bytes, directories: directories.length, versions } });
  if (dryRun) await print(io.stdout, made(filePaths, directories));
  const verb = dryRun ? 'Would import' : 'Imported';
  const what = `${amount(files, 'file')} (${byteAmount(bytes)}) and ${amount(directories.length, 'directory', 'directories')}`;
  const also = versions === null ? '' : `, with ${amount(versions, 'version')}`;
  io.stderr.write(`${verb} ${what} into ${tenant.id}${also}.\n`);
  if (historyLeftOut !== null) {
    io.stderr.write(`The history in the archive was skipped: ${tenant.id} ${historyLeftOut}.\n`);
  }
}

async function openSource(
  session: TenantSession,
  source: string | undefined,
  options: ImportOptions,
  io: Io,
): Promise<Source> {
  const { into, strip, fromStore } = options;
  if (fromStore !== undefined && source === undefined) {
    if (strip !== undefined) throw new OperatorError('--strip works only with archives.');
    const hosted = await openHosted(session, fromStore, options, io);
    return { entries: hosted.entries, hosted };
  }
  if (source === undefined || fromStore !== undefined)
    throw new OperatorError('Name either a source or a store (--from-store).');
  if (source === '-') {
    if (io.stdin.isTTY)
      throw new OperatorError('Standard input is a terminal. Name an archive, or pipe one into the command.');
    return { entries: readTar(io.stdin) };
  }
  const found = await stat(source).catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`Cannot read ${source} (${error.code}).`);
  });
  if (!found.isDirectory()) return { entries: readTar(createReadStream(source)) };
  if (strip !== undefined)
    throw new OperatorError('--strip works only with archives. Name the folder itself, and use --into.');
  return { entries: readFolder(source, into !== undefined) };
}

function* made(files: string[], directories: string[]): Generator<string> {
  for (const path of [...files, ...directories.map((each) => `${each}/`)].sort()) yield `${path}\n`;
}
