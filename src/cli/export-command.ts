import { open, rename, rm, stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { exportArchive, type Total } from '../archive/export.ts';
import { OperatorError } from '../errors.ts';
import { amount } from '../util/amount.ts';
import { tenantId } from './arguments.ts';
import { type Io, Progress } from './io.ts';
import { printJson } from './output.ts';
import type { Open } from './session.ts';
import { type TenantSession, withTenant } from './tenant-session.ts';

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
            `Exported ${amount(files, 'file')} (${amount(bytes, 'byte')}) of ${tenant} to ${output}${also}.\n`,
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
  { transfer, tenant }: TenantSession,
  output: Writable,
  { end, history }: { end: boolean; history: boolean },
  io: Io,
): Promise<Total> {
  const progress = new Progress(io.stderr, 'Exported');
  const onFile = ({ files, bytes }: Total) => progress.update(files, bytes);
  const total = await exportArchive(transfer, tenant.id, output, { end, history, onFile }).finally(() =>
    progress.end(),
  );
  if (total.actedUpon !== null) {
    io.stderr.write(
      `Warning: the archive contains ${total.actedUpon}. Such files can name commands that git or hg runs in the unpacked folder. Review or remove them before you use either there.\n`,
    );
  }
  return total;
}

/** Writes under a temporary name until the archive is complete, so that a failed export cannot be mistaken for one and keeps the previous one. */
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
