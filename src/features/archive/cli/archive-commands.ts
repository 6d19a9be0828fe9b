import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { InvalidArgumentError } from 'commander';
import { listTree, readFile as readMemoryFile } from '../../../core/admin/memory-operations.ts';
import { getTenant } from '../../../core/admin/tenant-operations.ts';
import { listVersions } from '../../../core/admin/version-operations.ts';
import { memoryPath, tenantId } from '../../../core/cli/arguments.ts';
import type { Caller } from '../../../core/cli/caller.ts';
import { type Cli, type CliCommand, command } from '../../../core/cli/cli-command.ts';
import { explain } from '../../../core/cli/hints.ts';
import { type Io, Progress, print } from '../../../core/cli/io.ts';
import { printJson } from '../../../core/cli/output.ts';
import { hasReason, OperatorError, ServiceError } from '../../../core/errors/errors.ts';
import { describeSecrets } from '../../../core/lib/secret-kinds.ts';
import { amount, byteAmount } from '../../../core/lib/units.ts';
import { type MemoryPath, ROOT } from '../../../core/memory/path.ts';
import { isMaskedForm } from '../../../core/memory/secrets/kept-out.ts';
import { type ExportedMemory, exportMemory, type ImportSource, importMemory } from '../archive-operations.ts';
import { escapeInvisible, type SourceEntry } from '../entry.ts';
import { explainOutput, spoolArchive, type Total } from '../export.ts';
import { HostedStore } from '../hosted/hosted-store.ts';
import { HostedSource } from '../hosted/snapshot.ts';
import { inspectorFor } from '../import.ts';
import { readDirectory } from '../source-directory.ts';
import { explainHosted, hostedClient, joinPaths, storeUrlOption, tenantFiles } from './hosted.ts';

export const exportCommand = (cli: Cli) =>
  command(
    cli,
    'export',
    "Export a consistent snapshot of a tenant's memory as a tar archive that contains a directory memories/.",
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .option('--history', 'include the history of the files, which import restores in an empty tenant')
    .option('--output <file>', 'file to write instead of standard output')
    .option('--force', 'replace the file if it exists')
    .option('--json', 'with --output: print a summary as JSON')
    .examples(
      'memory-service export acme --output acme.tar',
      'memory-service export acme | tar -xf -',
      'memory-service export acme --history --output acme.tar',
    )
    .action((tenant: string, options: ExportOptions, command: CliCommand) => {
      const { output, force = false, json, history = false } = options;
      if (json && output === undefined) command.error('error: --json works only with --output <file>');
      return command.runConnected(async ({ caller, io }) => {
        const write = async (to: Writable, end: boolean) => {
          const memory = await caller.call(exportMemory, { params: { tenant }, query: { history } });
          return exportTo(memory, to, end, io);
        };
        if (output !== undefined) {
          const { files, bytes, versions } = await exportToFile(output, force, (to) => write(to, true));
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
        if (caller.local) return void (await write(io.stdout, false));
        // An admin API disconnects slow readers after seconds, and a partial archive must not look complete. The
        // archive is therefore stored in a temporary file first.
        const { content } = await spoolArchive((to) => write(to, true));
        await explainOutput(() => pipeline(content, io.stdout, { end: false }));
      });
    });

interface ExportOptions {
  output?: string;
  force?: boolean;
  json?: boolean;
  history?: boolean;
}

async function exportTo(memory: ExportedMemory, output: Writable, end: boolean, io: Io): Promise<Total> {
  const progress = new Progress(io.stderr, 'Exported');
  const onFile = ({ files, bytes }: Total) => progress.update(files, bytes);
  const total = await memory.writeTo(output, { end, onFile }).finally(() => progress.end());
  if (total.actedUpon !== null) {
    io.stderr.write(
      `Warning: the archive contains ${total.actedUpon}. These files can name commands that git or hg runs in the unpacked directory. Review or remove them before you use git or hg there.\n`,
    );
  }
  return total;
}

/**
 * Writes the archive under a temporary name and renames the complete file. A failed export therefore keeps the previous
 * file.
 */
async function exportToFile(
  file: string,
  force: boolean,
  write: (output: Writable) => Promise<Total>,
): Promise<Total> {
  const existing = await stat(file).catch(() => undefined);
  // Devices and pipes are written directly.
  const isSpecial = existing !== undefined && !existing.isFile();
  if (existing?.isDirectory()) throw new OperatorError(`${file} is a directory. Choose a file.`);
  if (existing?.isFile() && !force) {
    throw new OperatorError(`${file} already exists. Add --force to replace it.`);
  }
  const unfinished = isSpecial ? file : `${file}.unfinished`;
  if (!isSpecial) await rm(unfinished, { force: true }).catch(cannotWrite(file));
  // Only the user can read the file, because memories are private.
  const handle = await open(unfinished, isSpecial ? 'w' : 'wx', 0o600).catch(cannotWrite(file));
  const output = handle.createWriteStream();
  try {
    const total = await write(output);
    if (!isSpecial) await rename(unfinished, file).catch(cannotWrite(file));
    return total;
  } catch (error) {
    output.destroy();
    if (!isSpecial) await rm(unfinished, { force: true });
    throw error;
  }
}

const REASONS: Record<string, string> = {
  ENOENT: 'its directory does not exist',
  ENOTDIR: 'its directory is a file',
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

interface ImportOptions {
  into?: MemoryPath;
  strip?: number;
  fromStore?: string;
  storeUrl: string;
  /** False with `--no-history`. */
  history: boolean;
  dryRun?: boolean;
}

export const importCommand = (cli: Cli) =>
  command(
    cli,
    'import',
    "Import a tar archive or a directory into a tenant's memory. No file is imported if any entry is invalid or already exists. The limits of requests apply. If the tenant has neither files nor a history, the history in the archive is restored.",
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument(
      '[source]',
      'a tar archive or a directory that contains memories/, or - for an archive on standard input',
    )
    .option('--into <path>', 'directory to import into; required for a source without memories/', memoryPath)
    .option('--strip <n>', 'remove this many leading segments from each path in an archive', count)
    .option(
      '--from-store <id>',
      'instead of a source: a hosted memory store with its versions, read with the key in ANTHROPIC_API_KEY. After an interruption, run it again: identical files are skipped, and different files are left unchanged',
    )
    .option('--no-history', 'with --from-store: only the memories, not their versions')
    .addOption(storeUrlOption())
    .option('--dry-run', 'list the files to import, without importing them')
    .examples(
      'memory-service import acme acme.tar --dry-run',
      'memory-service import acme ./agent-data                      (the directory of BetaLocalFilesystemMemoryTool)',
      'memory-service import acme notes.tar --into /memories/notes',
      'memory-service import acme globex.tar --strip 1 --into /memories/globex',
      'gunzip -c acme.tar.gz | memory-service import acme -',
      'memory-service import acme --from-store memstore_01ABC --dry-run',
    )
    .run(async ({ caller, io }, tenant: string, source: string | undefined, options: ImportOptions) => {
      try {
        const record = await caller.call(getTenant, { params: { tenant } });
        const from = await openSource(caller, record, source, options, io);
        await importFrom(caller, tenant, from, options, io);
        from.hosted?.report();
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        const hint = error.reason === 'no_such_tenant' ? CREATE(tenant) : '';
        throw new OperatorError(`${explain(error)}${hint}\nNothing was imported.`);
      }
    });

const CREATE = (tenant: string) => `, or create it: memory-service tenants create ${tenant}`;

function count(value: string): number {
  if (/^\d{1,2}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Use a whole number from 0 to 99.');
}

interface Source {
  body: ImportSource;
  /** Defined if the source is a hosted store. */
  hosted?: Awaited<ReturnType<typeof openHosted>>;
}

async function importFrom(
  caller: Caller,
  tenant: string,
  { body, hosted }: Source,
  { dryRun = false, into, strip, fromStore }: ImportOptions,
  io: Io,
): Promise<void> {
  const progress = new Progress(io.stderr, 'Checked');
  const importing = caller
    .call(importMemory, {
      params: { tenant },
      query: {
        into,
        // Entry names in a hosted store begin with memories/, so one component is removed.
        strip: hosted && into ? 1 : strip,
        dry_run: dryRun,
        store: fromStore,
      },
      body,
      onProgress: (now) => {
        // If versions are imported too, reading the store shows its own progress.
        if (now.step === 'check' && !hosted?.withVersions) progress.update(now.files, now.bytes);
      },
    })
    .finally(() => progress.end());
  const imported = await (hosted?.explainErrors(importing) ?? importing);
  if (imported === undefined) return;
  for (const { name, kinds } of imported.masked) {
    io.stderr.write(`${escapeInvisible(name)}: masked ${describeSecrets(kinds)}.\n`);
  }
  const desktop = imported.left_out.length;
  if (desktop > 0) io.stderr.write(`Left out ${amount(desktop, 'file')} of macOS (._* and .DS_Store).\n`);
  const { files, bytes, file_paths: filePaths, directories, versions, history_left_out: leftOut } = imported;
  if (filePaths !== null) await print(io.stdout, madePaths(filePaths, directories));
  const verb = dryRun ? 'Would import' : 'Imported';
  const what = `${amount(files, 'file')} (${byteAmount(bytes)}) and ${amount(directories.length, 'directory', 'directories')}`;
  const also = versions === null ? '' : `, with ${amount(versions, 'version')}`;
  io.stderr.write(`${verb} ${what} into ${tenant}${also}.\n`);
  if (leftOut !== null) io.stderr.write(`The history in the archive was skipped: ${tenant} ${leftOut}.\n`);
}

type Tenant = Awaited<ReturnType<typeof getTenant.run>>;

async function openSource(
  caller: Caller,
  tenant: Tenant,
  source: string | undefined,
  options: ImportOptions,
  io: Io,
): Promise<Source> {
  const { into, strip, fromStore } = options;
  if (fromStore !== undefined && source === undefined) {
    if (strip !== undefined) throw new OperatorError('--strip works only with archives.');
    const hosted = await openHosted(caller, tenant, fromStore, options, io);
    return { body: { entries: hosted.entries, mayPause: true }, hosted };
  }
  if (source === undefined || fromStore !== undefined)
    throw new OperatorError('Name either a source or a store (--from-store).');
  if (source === '-') {
    if (io.stdin.isTTY)
      throw new OperatorError('Standard input is a terminal. Name an archive, or pipe one into the command.');
    return { body: { archive: io.stdin, mayPause: true } };
  }
  const found = await stat(source).catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`Cannot read ${source} (${error.code}).`);
  });
  if (!found.isDirectory()) return { body: { archive: createReadStream(source), mayPause: !found.isFile() } };
  if (strip !== undefined)
    throw new OperatorError('--strip works only with archives. Name the directory itself, and use --into.');
  return { body: { entries: readDirectory(source, into !== undefined) } };
}

/**
 * Opens a hosted store as a source. A tenant without files and history receives the whole store as it was at one time,
 * and another tenant receives its missing memories.
 */
async function openHosted(
  caller: Caller,
  { id: tenant, effective }: Tenant,
  id: string,
  options: ImportOptions,
  io: Io,
) {
  const { into, history } = options;
  const { history_days: historyDays, secrets } = effective as {
    history_days: number;
    secrets: Parameters<typeof inspectorFor>[0];
  };
  const isUntouched = await isUntouchedTenant(caller, tenant);
  const withVersions = history && into === undefined && isUntouched && historyDays > 0;
  const source = new HostedSource(new HostedStore(hostedClient(options.storeUrl, io), id));
  const progress = new Progress(io.stderr, 'Read', 'version');
  const inspect = await inspectorFor(secrets);

  const entries: AsyncGenerator<SourceEntry> = withVersions
    ? source.withVersions((versions) => progress.update(versions))
    : source.missingFrom({
        files: await readHashes(caller, tenant),
        placePath: (path) => (into ?? ROOT) + path,
        isMasked: async (path, content) => {
          if (secrets !== 'mask') return false;
          const masked = inspect === undefined ? content : (await inspect(content)).masked;
          const params = { tenant };
          return isMaskedForm(
            (await caller.call(readMemoryFile, { params, query: { path } })).content,
            masked,
          );
        },
      });

  return {
    entries,
    withVersions,
    /**
     * Replaces the store's errors with messages with advice. The result is undefined if all memories were already
     * imported.
     */
    explainErrors: <T>(importing: Promise<T>): Promise<T | undefined> =>
      importing
        .finally(() => progress.end())
        .catch((error: unknown) => {
          if (hasReason(error, 'archive_empty')) return undefined;
          if (!hasReason(error, 'history_damaged'))
            return explainHosted('Nothing was imported. Run the command again.')(error);
          throw new OperatorError(
            `The versions of ${id} do not fit together: ${error.values[0]}. Import only its memories, with --no-history.\nNothing was imported.`,
          );
        }),
    /**
     * Prints the skipped memories and versions.
     *
     * @throws OperatorError that lists the memories that differ
     */
    report: () => {
      const { unchanged, differing, versionsLeftOut } = source;
      const say = (text: string) => io.stderr.write(`${text}\n`);
      if (unchanged > 0) say(`Already in ${tenant}: ${amount(unchanged, 'memory', 'memories')} of ${id}.`);
      if (versionsLeftOut > 0)
        say(
          `Left out: ${amount(versionsLeftOut, 'version')} with a path or a content that cannot be kept here.`,
        );
      if (history && !withVersions) {
        const why =
          historyDays === 0
            ? 'keeps no history'
            : isUntouched
              ? 'is given another directory'
              : 'has files or its own history';
        say(`The versions of ${id} were not imported: ${tenant} ${why}.`);
      }
      if (differing.length === 0) return;
      throw new OperatorError(
        `These differ in ${tenant}, or are blocked by other files, and were left unchanged:${joinPaths(differing)}`,
      );
    },
  };
}

async function isUntouchedTenant(caller: Caller, tenant: string): Promise<boolean> {
  const { entries } = await caller.call(listTree, { params: { tenant }, query: { limit: 1 } });
  if (entries.length > 0) return false;
  const { versions } = await caller.call(listVersions, { params: { tenant }, query: { limit: 1 } });
  return versions.length === 0;
}

async function readHashes(caller: Caller, tenant: string): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  for await (const { path, sha256 } of tenantFiles(caller, tenant)) hashes.set(path, sha256);
  return hashes;
}

function* madePaths(files: string[], directories: string[]): Generator<string> {
  for (const path of [...files, ...directories.map((each) => `${each}/`)].sort()) yield `${path}\n`;
}
