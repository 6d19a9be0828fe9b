import { Readable, Writable } from 'node:stream';
import { Command, CommanderError } from 'commander';
import { registerMemoryCommands } from '../../src/cli/memory-commands.ts';
import { type Config, loadConfig } from '../../src/config.ts';
import { OperatorError } from '../../src/errors.ts';
import type { Service } from './service.ts';

export interface CliResult {
  /** The message for the operator when the command fails. */
  error?: string;
  stdout: Buffer;
  stderr: string;
}

class Collected extends Writable {
  readonly chunks: Buffer[] = [];
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
  options: { stdin?: Readable | Buffer; env?: Record<string, string> } = {},
): Promise<CliResult> {
  const { stdin = Readable.from([]), env = {} } = options;
  const stdout = new Collected();
  const stderr = new Collected();
  const config: Config = loadConfig({ AUTH: 'none', ...env });
  const database = { ...service.database, close: async () => {} };
  const program = new Command('memory-service').exitOverride();
  program.configureOutput({ writeErr: (text) => stderr.write(text), writeOut: (text) => stdout.write(text) });
  registerMemoryCommands(program, async () => ({ config, database }), {
    stdin: Buffer.isBuffer(stdin) ? Readable.from([stdin]) : stdin,
    stdout,
    stderr,
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return { stdout: stdout.bytes, stderr: stderr.bytes.toString() };
  } catch (error) {
    if (!(error instanceof OperatorError || error instanceof CommanderError)) throw error;
    return { error: error.message, stdout: stdout.bytes, stderr: stderr.bytes.toString() };
  }
}
