import { PassThrough, Readable } from 'node:stream';
import type { AdminEnvironment } from '../../src/core/cli/profiles.ts';
import { type Config, loadConfig } from '../../src/core/config.ts';
import { localCaller } from '../../src/service/local-caller.ts';
import { runProgram } from '../../src/service/program.ts';
import { CollectedOutput } from './collected-output.ts';
import type { Service } from './test-service.ts';

export interface ProgramRun {
  code: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs the whole command line in this process on the service's database.
 *
 * @param options.isTTY whether standard output is a terminal
 * @param options.admin admin API to use instead of the database
 * @param options.typed input from an operator at a terminal; without input, there is no terminal
 */
export async function runOn(
  service: Service,
  args: string[],
  options: {
    env?: Record<string, string>;
    stdin?: string | Buffer;
    typed?: string;
    isTTY?: boolean;
    admin?: { url: string; key: string };
    /** Variables for the command line, instead of `admin`. */
    variables?: AdminEnvironment;
  } = {},
): Promise<ProgramRun> {
  const { env = {}, stdin, typed, isTTY = false, admin, variables } = options;
  const stdout = new CollectedOutput(isTTY);
  const stderr = new CollectedOutput(typed !== undefined);
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  if (typed !== undefined) terminal.write(typed);
  const config: Config = loadConfig({ AUTH: 'none', ...env });
  const database = { ...service.database, close: async () => {} };
  const open = async () => ({ config, database });
  const io = {
    stdin: typed === undefined ? Readable.from(stdin === undefined ? [] : [Buffer.from(stdin)]) : terminal,
    stdout,
    stderr,
  };
  const code = await runProgram(args, {
    version: '1.2.3',
    connectLocally: localCaller(open, io),
    openMigrated: open,
    openPlace: async () => database,
    serve: async () => {},
    env: variables ?? { MEMORY_ADMIN_URL: admin?.url, MEMORY_ADMIN_KEY: admin?.key },
    io,
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}
