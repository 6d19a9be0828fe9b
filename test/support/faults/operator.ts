/** An operator who does what docs/operations.md says, to the letter: the commands are read from there. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { asNobody } from '../postgres/binaries.ts';

const run = promisify(execFile);
const DOCUMENT = new URL('../../../docs/operations.md', import.meta.url);

/** The blocks of commands below a heading. */
export function documented(heading: string): string[] {
  const sections = readFileSync(DOCUMENT, 'utf8').split(/^#+ /m);
  const section = sections.find((each) => each.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/operations.md has nothing about "${heading}"`);
  return [...section.matchAll(/^```\w*\n(.*?)\n```$/gms)].map(([, block = '']) => block);
}

/** The document's hosts and folders, and what they are here. */
export type Meanings = Record<string, string>;

/** A shell in a folder, of the user that Postgres runs as or of our own. */
export class Operator {
  readonly #folder: string;
  readonly #env: Record<string, string>;
  readonly #meanings: Meanings;
  readonly #user: object;

  constructor(folder: string, env: Record<string, string>, meanings: Meanings = {}, user: object = {}) {
    this.#folder = folder;
    this.#env = env;
    this.#meanings = meanings;
    this.#user = user;
  }

  /** Puts our hosts and folders in the place of the document's. */
  translate(text: string): string {
    // The longest first: an address contains HOST.
    const words = Object.keys(this.#meanings).sort((a, b) => b.length - a.length);
    if (words.length === 0) return text;
    return text.replace(new RegExp(words.join('|'), 'g'), (word) => this.#meanings[word] ?? word);
  }

  /** Runs commands up to the first that fails; resolves with what they printed. */
  async run(commands: string): Promise<string> {
    const { stdout } = await run('sh', ['-e', '-c', this.translate(commands)], {
      ...this.#user,
      cwd: this.#folder,
      env: { ...process.env, ...this.#env },
    });
    return stdout.trim();
  }
}

export interface Tools {
  /** Folder of the server's programs. */
  server: string;
  /** Where a shell finds those and the tools. */
  path: string;
  version: string;
}

/**
 * PostgreSQL's own tools, in PG_BIN or where `pg_config` says, and the server in the same folder if there is one, else ours.
 *
 * @param ours folder of a server's programs
 * @returns why not, when they are not there or not for this server
 */
export async function findTools(ours: string): Promise<Tools | string> {
  const bin =
    process.env.PG_BIN ?? (await run('pg_config', ['--bindir']).catch(() => undefined))?.stdout.trim();
  if (bin === undefined) return 'PG_BIN is not set, and there is no pg_config';
  const has = (program: string) => existsSync(join(bin, program));
  const needed = ['pg_dump', 'pg_restore', 'createdb', 'pg_basebackup', 'psql'];
  const missing = needed.filter((program) => !has(program));
  if (missing.length > 0) return `no ${missing.join(', ')} in ${bin}; PG_BIN may name another folder`;
  const server = ['initdb', 'pg_ctl', 'postgres'].every(has) ? bin : ours;
  const [version, dump] = [await versionOf(server, 'postgres'), await versionOf(bin, 'pg_dump')];
  if (parseInt(version, 10) !== parseInt(dump, 10))
    return `pg_dump in ${bin} is ${dump}, the server ${version}; PG_BIN may name another folder`;
  return { server, path: `${server}:${bin}:${process.env.PATH}`, version };
}

async function versionOf(folder: string, program: string): Promise<string> {
  const { stdout } = await run(join(folder, program), ['--version'], { ...asNobody });
  return /\(PostgreSQL\) (\S+)/.exec(stdout)?.[1] ?? stdout;
}
