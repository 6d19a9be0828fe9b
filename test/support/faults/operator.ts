/** An operator who follows docs/backup.md literally: the commands are read from that document. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { asNobody } from '../postgres/binaries.ts';

const run = promisify(execFile);
const DOCUMENT = new URL('../../../docs/backup.md', import.meta.url);

/** Returns the command blocks below a heading. */
export function documentedCommands(heading: string): string[] {
  const sections = readFileSync(DOCUMENT, 'utf8').split(/^#+ /m);
  const section = sections.find((each) => each.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/backup.md has no section "${heading}"`);
  return [...section.matchAll(/^```\w*\n(.*?)\n```$/gms)].map(([, block = '']) => block);
}

/** Maps the document's hosts and directories to the test's own. */
export type Substitutions = Record<string, string>;

/** Runs shell commands in a directory, as the user that Postgres runs as or as the current one. */
export class Operator {
  readonly #directory: string;
  readonly #env: Record<string, string>;
  readonly #substitutions: Substitutions;
  readonly #user: object;

  constructor(
    directory: string,
    env: Record<string, string>,
    substitutions: Substitutions = {},
    user: object = {},
  ) {
    this.#directory = directory;
    this.#env = env;
    this.#substitutions = substitutions;
    this.#user = user;
  }

  /** Replaces the document's hosts and directories with the test's own. */
  translate(text: string): string {
    // The longest word first, because an address contains HOST.
    const words = Object.keys(this.#substitutions).sort((a, b) => b.length - a.length);
    if (words.length === 0) return text;
    return text.replace(new RegExp(words.join('|'), 'g'), (word) => this.#substitutions[word] ?? word);
  }

  /** Runs commands until one fails. Resolves with their output. */
  async run(commands: string): Promise<string> {
    const { stdout } = await run('sh', ['-e', '-c', this.translate(commands)], {
      ...this.#user,
      cwd: this.#directory,
      env: { ...process.env, ...this.#env },
    });
    return stdout.trim();
  }
}

export interface Tools {
  /** Directory that contains the server binaries. */
  server: string;
  /** PATH with the server binaries and the client tools. */
  path: string;
  version: string;
}

/**
 * Finds PostgreSQL's client tools in PG_BIN or the directory that `pg_config` prints, and a matching server in the same
 * directory or among our binaries.
 *
 * @param ours directory that contains our server binaries
 * @returns the tools, or the reason why they are missing or do not match the server
 */
export async function findTools(ours: string): Promise<Tools | string> {
  const bin =
    process.env.PG_BIN ?? (await run('pg_config', ['--bindir']).catch(() => undefined))?.stdout.trim();
  if (bin === undefined) return 'PG_BIN is not set, and there is no pg_config';
  const has = (program: string) => existsSync(join(bin, program));
  const needed = ['pg_dump', 'pg_restore', 'createdb', 'pg_basebackup', 'psql'];
  const missing = needed.filter((program) => !has(program));
  if (missing.length > 0) return `no ${missing.join(', ')} in ${bin}; PG_BIN may name another directory`;
  const server = ['initdb', 'pg_ctl', 'postgres'].every(has) ? bin : ours;
  const [version, dump] = [await readToolVersion(server, 'postgres'), await readToolVersion(bin, 'pg_dump')];
  if (parseInt(version, 10) !== parseInt(dump, 10))
    return `pg_dump in ${bin} is ${dump}, the server ${version}; PG_BIN may name another directory`;
  return { server, path: `${server}:${bin}:${process.env.PATH}`, version };
}

async function readToolVersion(directory: string, program: string): Promise<string> {
  const { stdout } = await run(join(directory, program), ['--version'], { ...asNobody });
  return /\(PostgreSQL\) (\S+)/.exec(stdout)?.[1] ?? stdout;
}
