/**
 * The SDK's `BetaLocalFilesystemMemoryTool` on a temporary directory, and the differences that the contract defines.
 */
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { inject } from 'vitest';
import type { Input } from './arbitraries.ts';
import type { Result, Tree } from './model.ts';

export class Reference {
  readonly #directory: string;
  readonly #tool: BetaLocalFilesystemMemoryTool;

  private constructor(directory: string, tool: BetaLocalFilesystemMemoryTool) {
    this.#directory = directory;
    this.#tool = tool;
  }

  static async start(): Promise<Reference> {
    const directory = await mkdtemp(join(inject('scratch'), 'reference-'));
    return new Reference(directory, await BetaLocalFilesystemMemoryTool.init(directory));
  }

  /** Runs a command. An exception from the class becomes an error result. */
  async run(input: Input): Promise<Result> {
    const run = this.#tool[input.command as 'view'].bind(this.#tool);
    try {
      return { content: String(await run(input as never)), is_error: false };
    } catch (error) {
      return { content: error instanceof Error ? error.message : String(error), is_error: true };
    }
  }

  async tree(): Promise<Tree> {
    const tree = new Map<string, string | null>([['/memories', null]]);
    const walk = async (path: string): Promise<void> => {
      for (const entry of await readdir(join(this.#directory, path), { withFileTypes: true })) {
        const at = `${path}/${entry.name}`;
        tree.set(at, entry.isFile() ? await readFile(join(this.#directory, at), 'utf8') : null);
        if (entry.isDirectory()) await walk(at);
      }
    };
    await walk('/memories');
    return tree;
  }

  /** Removes directories that are not in `tree`. */
  async removeStrayDirectories(tree: Tree): Promise<void> {
    for (const [path, content] of await this.tree()) {
      if (content === null && !tree.has(path))
        await rm(join(this.#directory, path), { recursive: true, force: true });
    }
  }

  async clear(): Promise<void> {
    await rm(join(this.#directory, 'memories'), { recursive: true });
    await mkdir(join(this.#directory, 'memories'));
  }

  async close(): Promise<void> {
    await rm(this.#directory, { recursive: true });
  }
}

/** Normalizes a result from the service for the comparison with `normalizeReference`. */
export function normalizeService({ content, is_error }: Result): Result {
  // "Documented error strings and prefixes": errors from the class have no prefix.
  return { content: is_error ? content.replace(/^Error: /, '') : content, is_error };
}

/** @param input command that the class received */
export function normalizeReference({ content, is_error }: Result, input: Input): Result {
  // "Documented error strings": an insert into a missing path or a directory has its own message.
  // "`insert` and `str_replace` on a directory": the directory is reported as missing.
  if (is_error && /^The path .* (is not a file|does not exist)\./.test(content) && input.command !== 'view') {
    const missing = `The path ${input.path} does not exist`;
    return {
      content: input.command === 'insert' ? missing : `${missing}. Please provide a valid path.`,
      is_error,
    };
  }
  if (!is_error && content.startsWith("Here're the files"))
    return { content: normalizeListing(content), is_error };
  return { content, is_error };
}

function normalizeListing(content: string): string {
  return content
    .split('\n')
    .map((line, i) => {
      // Section 2: a directory always has the size of a POSIX directory entry, on any filesystem.
      if (i === 1 || line.endsWith('/')) return line.replace(/^[^\t]*\t/, '4.0K\t');
      // "One decimal in sizes": the class writes 2K for 2.0K.
      return line.replace(/^(\d+)([KMG])\t/, '$1.0$2\t');
    })
    .join('\n');
}
