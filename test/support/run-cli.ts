import { Readable } from 'node:stream';
import { CommanderError } from 'commander';
import { explain } from '../../src/core/cli/hints.ts';
import { type Config, loadConfig } from '../../src/core/config.ts';
import { OperatorError, ServiceError } from '../../src/core/errors/errors.ts';
import { localCaller } from '../../src/service/local-caller.ts';
import { createProgram } from '../../src/service/program.ts';
import { CollectedOutput } from './collected-output.ts';
import type { Service } from './test-service.ts';

export interface CliResult {
  error?: string;
  exitCode: number;
  stdout: Buffer;
  stderr: string;
}

/** Runs a memory command from the CLI in this process on the service's database. */
export async function runCli(
  service: Service,
  args: string[],
  options: { stdin?: Readable | Buffer; env?: Record<string, string>; isTTY?: boolean } = {},
): Promise<CliResult> {
  const { stdin = Readable.from([]), env = {}, isTTY = false } = options;
  const stdout = new CollectedOutput(isTTY);
  const stderr = new CollectedOutput();
  const config: Config = loadConfig({ AUTH: 'none', ...env });
  const database = { ...service.database, close: async () => {} };
  const open = async () => ({ config, database });
  const io = { stdin: Buffer.isBuffer(stdin) ? Readable.from([stdin]) : stdin, stdout, stderr };
  const program = createProgram({
    version: '1.2.3',
    connectLocally: localCaller(open, io),
    openMigrated: open,
    openPlace: async () => database,
    serve: async () => {},
    io,
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return { exitCode: 0, stdout: stdout.bytes, stderr: stderr.text };
  } catch (error) {
    if (error instanceof ServiceError) {
      return { error: explain(error), exitCode: 1, stdout: stdout.bytes, stderr: stderr.text };
    }
    if (!(error instanceof OperatorError || error instanceof CommanderError)) throw error;
    const { message, exitCode } = error;
    return { error: message, exitCode, stdout: stdout.bytes, stderr: stderr.text };
  }
}
