import { PassThrough, Readable, Writable } from 'node:stream';
import { runProgram } from '../../src/cli/program.ts';
import { type Config, loadConfig } from '../../src/config.ts';
import type { Service } from './service.ts';

export interface ProgramRun {
  code: number;
  stdout: string;
  stderr: string;
}

class Collected extends Writable {
  readonly isTTY: boolean;
  #chunks: Buffer[] = [];
  constructor(isTTY = false) {
    super();
    this.isTTY = isTTY;
  }
  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#chunks.push(chunk);
    callback();
  }
  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

/**
 * Runs the whole command line in this process, on the service's database.
 *
 * @param options.typed what an operator types at a terminal; without, there is no terminal
 */
export async function runOn(
  service: Service,
  args: string[],
  options: { env?: Record<string, string>; stdin?: string | Buffer; typed?: string } = {},
): Promise<ProgramRun> {
  const { env = {}, stdin, typed } = options;
  const stdout = new Collected();
  const stderr = new Collected(typed !== undefined);
  const terminal = Object.assign(new PassThrough(), { isTTY: true });
  if (typed !== undefined) terminal.write(typed);
  const config: Config = loadConfig({ AUTH: 'none', ...env });
  const database = { ...service.database, close: async () => {} };
  const open = async () => ({ config, database });
  const code = await runProgram(args, {
    ...{ version: '1.2.3', open, openMigrated: open },
    serve: async () => {},
    io: {
      stdin: typed === undefined ? Readable.from(stdin === undefined ? [] : [Buffer.from(stdin)]) : terminal,
      ...{ stdout, stderr },
    },
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}
