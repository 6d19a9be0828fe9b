import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { OperatorError } from '../errors.ts';
import type { MemoryPath } from '../memory/path.ts';
import { mask, type SecretScanner } from '../memory/redactor.ts';
import { effectiveSettings } from '../tenants/effective-settings.ts';
import { noRoom } from '../tenants/tenants.ts';
import type { Imported } from '../transfer/import.ts';
import { printable, type SourceEntry } from '../transfer/source/entry.ts';
import { readFolder } from '../transfer/source/folder.ts';
import { type Inspected, type PreparedImport, prepareImport } from '../transfer/source/prepare.ts';
import { readTar } from '../transfer/tar.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { amount, type Io, Progress, print } from './io.ts';
import { operatorOrigin } from './operator.ts';
import type { Open } from './session.ts';
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
      "Put an archive (tar) or a folder into a tenant's memory: all of it, or nothing if any of it cannot be kept or exists already. The same limits and rules hold as for requests.",
    )
    .argument('<tenant>', 'its id', tenantId)
    .argument(
      '<source>',
      'a tar archive with a folder memories/ in it, such a folder, or - for the standard input',
    )
    .option(
      '--into <path>',
      'the directory to put it in, for a source without a folder memories/',
      memoryPath,
    )
    .option('--strip <n>', 'drop so many leading names of each path in an archive', count)
    .option('--dry-run', 'only say what would be made')
    .addHelpText(
      'after',
      `
Examples:
  memory-service import acme acme.tar --dry-run
  memory-service import acme ./agent-data                      (that of BetaLocalFilesystemMemoryTool, with memories/ in it)
  memory-service import acme notes.tar --into /memories/notes
  memory-service import acme globex.tar --strip 1 --into /memories/globex
  gunzip -c acme.tar.gz | memory-service import acme -`,
    )
    .action((tenant: string, source: string, options: ImportOptions) =>
      withTenant(open, tenant, async (session) => {
        try {
          await importFrom(session, source, options, io);
        } catch (error) {
          if (!(error instanceof OperatorError)) throw error;
          throw new OperatorError(`${error.message}\nNothing was imported.`);
        }
      }),
    );
}

function count(value: string): number {
  if (/^\d{1,2}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('Give a number of names.');
}

async function importFrom(
  session: TenantSession,
  source: string,
  options: ImportOptions,
  io: Io,
): Promise<void> {
  const { config, tenant, transfer } = session;
  const { dryRun = false, into, strip } = options;
  const { maxFileBytes, maxFiles, maxBytes, redact } = effectiveSettings(tenant, config);
  const progress = new Progress(io.stderr, 'Checked');
  const prepared = await prepareImport(await openSource(source, options, io), {
    tenant: tenant.id,
    into,
    strip,
    ...{ maxFileBytes, maxFiles, maxBytes },
    inspect: await inspectorFor(redact),
    onChanged: (name, kinds) => {
      progress.end();
      io.stderr.write(`${printable(name)}: masked what looks like a secret (${kinds.join(', ')}).\n`);
    },
    onProgress: (files, bytes) => progress.update(files, bytes),
  }).finally(() => progress.end());
  try {
    const imported = await transfer.importFrom(tenant.id, prepared, { origin: operatorOrigin(), dryRun });
    const { files, bytes, directories } = successful(imported, tenant.id);
    if (dryRun) await print(io.stdout, made(prepared, directories));
    const verb = dryRun ? 'Would import' : 'Imported';
    const what = `${amount(files, 'file')} (${amount(bytes, 'byte')}) and ${amount(directories.length, 'directory', 'directories')}`;
    io.stderr.write(`${verb} ${what} into ${tenant.id}.\n`);
  } finally {
    await prepared.close();
  }
}

async function openSource(
  source: string,
  { into, strip }: ImportOptions,
  io: Io,
): Promise<AsyncGenerator<SourceEntry>> {
  if (source === '-') {
    if (io.stdin.isTTY) throw new OperatorError('There is no archive: the standard input is a terminal.');
    return readTar(io.stdin);
  }
  const found = await stat(source).catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`Cannot read ${source} (${error.code}).`);
  });
  if (!found.isDirectory()) return readTar(createReadStream(source));
  if (strip !== undefined)
    throw new OperatorError('--strip is for archives: name the folder itself, and use --into.');
  return readFolder(source, into !== undefined);
}

/** What the tenant's policy on secrets does with a text; undefined for nothing. */
async function inspectorFor(mode: 'off' | 'mask' | 'reject') {
  if (mode === 'off') return undefined;
  // Loaded only where it is used: it takes a while.
  const { createSecretScanner } = await import('../redaction/scanner.ts');
  const scanner: SecretScanner = createSecretScanner();
  return async (text: string): Promise<Inspected> => {
    const secrets = await scanner.scan(text);
    const kinds = [...new Set(secrets.map(({ kind }) => kind))];
    if (mode === 'reject' && secrets.length > 0) return { ok: false, kinds };
    return { ok: true, text: mask(text, secrets), kinds };
  };
}

/** @throws OperatorError when it was not. */
function successful(imported: Imported, tenant: string) {
  switch (imported.kind) {
    case 'imported':
      return imported;
    case 'exists': {
      const more = imported.total - imported.paths.length;
      const list = imported.paths.map((path) => `\n  ${path}`).join('');
      throw new OperatorError(
        `There is something already at ${imported.total} of the paths:${list}${more > 0 ? `\n  and ${more} more` : ''}\nDelete or rename what is there, or import into another directory with --into.`,
      );
    }
    case 'over_quota':
      throw noRoom(tenant, imported, 'import');
  }
}

function* made({ entries }: PreparedImport, directories: string[]): Generator<string> {
  const files = [...entries].filter(([, { kind }]) => kind === 'file').map(([path]) => path);
  for (const path of [...files, ...directories.map((each) => `${each}/`)].sort()) yield `${path}\n`;
}
