import { Readable, Writable } from 'node:stream';
import { WriteStream } from 'node:tty';
import { Command, CommanderError } from 'commander';
import { registerHistoryCommands } from '../../src/cli/history-commands.ts';
import { registerMemoryCommands } from '../../src/cli/memory-commands.ts';
import { registerRestoreCommand } from '../../src/cli/restore-command.ts';
import { registerRevertCommand } from '../../src/cli/revert-command.ts';
import { type Config, loadConfig } from '../../src/config.ts';
import { OperatorError } from '../../src/errors.ts';
import type { Service } from './service.ts';

export interface CliResult {
  /** The message for the operator when the command fails. */
  error?: string;
  exitCode: number;
  stdout: Buffer;
  stderr: string;
}

class Collected extends Writable {
  readonly chunks: Buffer[] = [];
  readonly isTTY: boolean;
  constructor(isTTY = false) {
    super();
    this.isTTY = isTTY;
  }
  /** As a terminal's, which heeds `NO_COLOR`. */
  getColorDepth(env = process.env): number {
    return WriteStream.prototype.getColorDepth(env);
  }
  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.chunks.push(chunk);
    callback();
  }
  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

/** Runs a memory command of the CLI in this process, on the service's database. */
export async function runCli(
  service: Service,
  args: string[],
  options: { stdin?: Readable | Buffer; env?: Record<string, string>; isTTY?: boolean } = {},
): Promise<CliResult> {
  const { stdin = Readable.from([]), env = {}, isTTY = false } = options;
  const stdout = new Collected(isTTY);
  const stderr = new Collected();
  const config: Config = loadConfig({ AUTH: 'none', ...env });
  const database = { ...service.database, close: async () => {} };
  const program = new Command('memory-service').exitOverride();
  program.configureOutput({ writeErr: (text) => stderr.write(text), writeOut: (text) => stdout.write(text) });
  const open = async () => ({ config, database });
  const io = { stdin: Buffer.isBuffer(stdin) ? Readable.from([stdin]) : stdin, stdout, stderr };
  registerMemoryCommands(program, open, io);
  registerHistoryCommands(program, open, io);
  registerRestoreCommand(program, open, io);
  registerRevertCommand(program, open, io);
  try {
    await program.parseAsync(args, { from: 'user' });
    return { exitCode: 0, stdout: stdout.bytes, stderr: stderr.bytes.toString() };
  } catch (error) {
    if (!(error instanceof OperatorError || error instanceof CommanderError)) throw error;
    const { message, exitCode } = error;
    return { error: message, exitCode, stdout: stdout.bytes, stderr: stderr.bytes.toString() };
  }
}
