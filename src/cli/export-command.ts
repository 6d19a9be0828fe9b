import { open, rename, rm, stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { writeTar } from '../transfer/tar.ts';
import { tenantId } from './arguments.ts';
import { amount, type Io, Progress } from './io.ts';
import { printJson } from './output.ts';
import type { Open } from './session.ts';
import { type TenantSession, withTenant } from './tenant-session.ts';

/** `export`: a tenant's memory as a tar archive. */
export function registerExportCommand(program: Command, openSession: Open, io: Io): void {
  program
    .command('export')
    .description(
      "Write a tenant's whole memory, as it is at one moment, as a tar archive with a folder memories/.",
    )
    .argument('<tenant>', 'its id', tenantId)
    .option('--output <file>', 'where to write it, instead of to the standard output')
    .option('--force', 'replace the file if there is one')
    .option('--json', 'with --output: say what was exported as JSON')
    .addHelpText(
      'after',
      '\nExamples:\n  memory-service export acme --output acme.tar\n  memory-service export acme | tar -xf -',
    )
    .action((tenant: string, { output, force = false, json }: ExportOptions) =>
      withTenant(openSession, tenant, async (session) => {
        if (output !== undefined) {
          const { files, bytes } = await exportToFile(session, output, force, io);
          if (json) return printJson(io.stdout, { tenant, output, files, bytes });
          io.stderr.write(
            `Exported ${amount(files, 'file')} (${amount(bytes, 'byte')}) of ${tenant} to ${output}.\n`,
          );
          return;
        }
        if (io.stdout.isTTY) {
          throw new OperatorError(
            'An archive is not for a terminal. Say where to write it: --output <file>.',
          );
        }
        await exportTo(session, io.stdout, false, io);
      }),
    );
}

interface ExportOptions {
  output?: string;
  force?: boolean;
  json?: boolean;
}

interface Total {
  files: number;
  bytes: number;
}

async function exportTo(
  { transfer, tenant }: TenantSession,
  output: Writable,
  end: boolean,
  io: Io,
): Promise<Total> {
  const total = { files: 0, bytes: 0 };
  const progress = new Progress(io.stderr, 'Exported');
  try {
    await writeTar(output, end, (add) =>
      transfer.exportTo(tenant.id, async (entry) => {
        await add(entry);
        if (entry.kind === 'dir') return;
        total.files++;
        total.bytes += Buffer.byteLength(entry.content);
        progress.update(total.files, total.bytes);
      }),
    );
    return total;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === undefined || syscall === undefined) throw error;
    throw new OperatorError(
      `The archive could not be written to its end (${code}). Do not use what there is of it.`,
    );
  } finally {
    progress.end();
  }
}

/** Under another name until it is whole, so that a failed export neither looks like one nor costs the one before. */
async function exportToFile(session: TenantSession, file: string, force: boolean, io: Io): Promise<Total> {
  const existing = await stat(file).catch(() => undefined);
  // A device or a pipe is written to as it is.
  const isSpecial = existing !== undefined && !existing.isFile();
  if (existing?.isDirectory()) throw new OperatorError(`${file} is a directory. Name a file in it.`);
  if (existing?.isFile() && !force) {
    throw new OperatorError(`There is a file ${file} already. Add --force to replace it.`);
  }
  const unfinished = isSpecial ? file : `${file}.unfinished`;
  if (!isSpecial) await rm(unfinished, { force: true }).catch(cannotWrite(file));
  // What an agent remembers is nobody else's business.
  const handle = await open(unfinished, isSpecial ? 'w' : 'wx', 0o600).catch(cannotWrite(file));
  try {
    const total = await exportTo(session, handle.createWriteStream(), true, io);
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
    throw new OperatorError(`Cannot write ${file}: ${REASONS[code] ?? 'the system refuses'} (${code}).`);
  };
}
