import { readFile } from 'node:fs/promises';
import { InvalidArgumentError } from 'commander';
import { OperatorError } from '../errors/errors.ts';
import { memoryPath } from './arguments.ts';

/* Options that resolve conflicts in a merge or a revert by path. */

export interface Resolutions<Side extends string> {
  take?: [path: string, side: Side][];
  text?: [path: string, file: string][];
}

/**
 * Converts the options to resolutions by file ID.
 *
 * @param read lists the files that can be resolved; if two have the same path, the last file is chosen
 */
export async function findResolutions<Side extends string>(
  { take = [], text = [] }: Resolutions<Side>,
  read: () => Promise<{ path: string; id: string }[]>,
  unknown = (path: string) => `${path} is not affected. See the paths of a dry run.`,
): Promise<({ memory_id: string; take: Side } | { memory_id: string; text: string })[]> {
  if (take.length + text.length === 0) return [];
  const byPath = new Map((await read()).map(({ path, id }) => [path, id]));
  const idAt = (path: string) => {
    const id = byPath.get(path);
    if (id !== undefined) return id;
    throw new OperatorError(unknown(path));
  };
  const taken = take.map(([path, side]) => ({ memory_id: idAt(path), take: side }));
  const written = text.map(async ([path, file]) => ({ memory_id: idAt(path), text: await readText(file) }));
  return [...taken, ...(await Promise.all(written))];
}

async function readText(file: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(file));
  } catch (error) {
    const why = error instanceof TypeError ? 'it is not UTF-8' : (error as NodeJS.ErrnoException).code;
    throw new OperatorError(`Cannot read ${file}: ${why}.`);
  }
}

/** Parses `path=value`. A path may contain `=`, so the value follows the last `=`. */
function parseAssignment(given: string): [path: string, value: string] {
  const at = given.lastIndexOf('=');
  if (at === -1) throw new InvalidArgumentError('Use a path, = and a value.');
  return [memoryPath(given.slice(0, at)), given.slice(at + 1)];
}

/** Creates a parser for `path=side`. */
export function takeArgument<Side extends string>(sides: readonly Side[]) {
  return (given: string, before: [string, Side][] = []): [string, Side][] => {
    const [path, value] = parseAssignment(given);
    const side = sides.find((each) => each === value);
    if (side === undefined)
      throw new InvalidArgumentError(`Use ${sides.map((each) => `/memories/…=${each}`).join(' or ')}.`);
    return [...before, [path, side]];
  };
}

export function textArgument(given: string, before: [string, string][] = []): [string, string][] {
  return [...before, parseAssignment(given)];
}
