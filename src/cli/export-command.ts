import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import type { Writable } from 'node:stream';
import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { writeTar } from '../transfer/tar.ts';
import { amount, type Io, Progress } from './io.ts';
import type { Open } from './session.ts';
import { tenantId } from './tenant-commands.ts';
import { type TenantSession, withTenant } from './tenant-session.ts';

/** `export`: a tenant's memory as a tar archive. */
export function registerExportCommand(program: Command, open: Open, io: Io): void {
  program
    .command('export')
    .description(
      "Write a tenant's whole memory, as it is at one moment, as a tar archive with a folder memories/.",
    )
    .argument('<tenant>', 'its id', tenantId)
    .option('--output <file>', 'where to write it, instead of to the standard output')
    .addHelpText(
      'after',
      '\nExamples:\n  memory-service export acme --output acme.tar\n  memory-service export acme | tar -xf -',
    )
    .action((tenant: string, { output }: { output?: string }) =>
      withTenant(open, tenant, async (session) => {
        if (output !== undefined) {
          const { files, bytes } = await exportToFile(session, output, io);
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
async function exportToFile(session: TenantSession, file: string, io: Io): Promise<Total> {
  const isSpecial = (await stat(file).catch(() => undefined))?.isFile() === false;
  const unfinished = isSpecial ? file : `${file}.unfinished`;
  if (!isSpecial) await rm(unfinished, { force: true });
  // What an agent remembers is nobody else's business.
  const output = createWriteStream(unfinished, { flags: isSpecial ? 'w' : 'wx', mode: 0o600 });
  try {
    const total = await exportTo(session, output, true, io);
    if (!isSpecial) await rename(unfinished, file);
    return total;
  } catch (error) {
    if (!isSpecial) await rm(unfinished, { force: true });
    throw error;
  }
}
