import { amount } from '../../core/lib/units.ts';
import { type Actor, actorSource, actorText, originActor } from '../../core/memory/origin.ts';
import type { Writer } from './file-history.ts';

/* Result strings for provenance, defined in docs/provenance.md. */

/** Maximum length of a block in UTF-16 units, without its last row. */
const MAX_BLOCK_CHARS = 4096;

const heading = '[Last change to each line, by day in UTC:';
const restOfView = (line: number) => `Truncated: use view_range [${line}, -1] to see the rest.`;
const restOfMatches = (lines: number) => `Truncated: ${amount(lines, 'more line')}.`;

export const changedMeanwhile =
  '[The last change to each line is unknown, because the file has just changed.]';

/**
 * Lists the last changes to the lines from `first` to `last`. Consecutive lines with the same change share a row.
 *
 * @param describe returns the change to a line
 */
export function viewBlock(first: number, last: number, describe: (line: number) => string): string {
  const rows = new Rows();
  let start = first;
  let change = describe(first);
  for (let line = first + 1; line <= last + 1; line++) {
    const next = line <= last ? describe(line) : undefined;
    if (next === change) continue;
    const range = start === line - 1 ? start : `${start}-${line - 1}`;
    if (!rows.add(`${range}: ${change}`)) return rows.end(restOfView(start));
    if (next === undefined) break;
    [start, change] = [line, next];
  }
  return rows.end();
}

export function matchesBlock(lines: readonly { path: string; line: number; change: string }[]): string {
  const rows = new Rows();
  for (const [i, { path, line, change }] of lines.entries()) {
    if (!rows.add(`${path}:${line}: ${change}`)) return rows.end(restOfMatches(lines.length - i));
  }
  return rows.end();
}

class Rows {
  readonly #rows = [heading];
  #length = heading.length;

  /** Adds a row if it fits; the first row always fits. */
  add(row: string): boolean {
    this.#length += 1 + row.length;
    if (this.#rows.length > 1 && this.#length > MAX_BLOCK_CHARS) return false;
    this.#rows.push(row);
    return true;
  }

  end(...rest: string[]): string {
    return `${[...this.#rows, ...rest].join('\n')}]`;
  }
}

/** Where a line's file is, from the reader's point of view. */
export interface Place {
  isMounted: boolean;
  /** IDs of the reader's tenant and, in a draft, its original. */
  ownTenants: readonly (string | null)[];
}

/** Describes the version that wrote a line. An actor of another tenant is described without its name. */
export function changeText(
  { createdAt, origin, isProposed }: Writer,
  { isMounted, ownTenants }: Place,
): string {
  const actor = originActor(origin);
  const source = actorSource(actor);
  const { viaTenant, approvedBy } = origin ?? {};
  const isOwn = viaTenant === undefined ? !isMounted : ownTenants.includes(viaTenant);
  const name = isOwn ? actorText : actorKind;
  return [
    name(actor),
    ...(source === null ? [] : [`source ${source}`]),
    ...(isMounted ? ['in a mounted memory'] : viaTenant === undefined ? [] : ['through a mount']),
    toDay(createdAt),
    ...(approvedBy === undefined
      ? isProposed || source !== null
        ? ['unreviewed']
        : []
      : [isMounted ? 'approved' : `approved by ${actorText(approvedBy)}`]),
  ].join(', ');
}

/** Describes a line from an unknown version. @param latest time of the last version that may have written the line */
export function unknownText(latest?: string): string {
  return latest === undefined ? 'unknown' : `unknown, ${toDay(latest)} or earlier`;
}

function toDay(at: string): string {
  return at.slice(0, 'YYYY-MM-DD'.length);
}

function actorKind({ type }: Actor): string {
  switch (type) {
    case 'api_key':
      return 'a key';
    case 'admin_key':
      return 'an admin key';
    case 'user':
      return 'a person';
    case 'jwt':
      return 'a token';
    case 'operator':
      return 'an operator';
    case 'session':
      return 'a session';
    case 'system':
      return 'a job';
    case 'anonymous':
      return 'anonymous';
  }
}
