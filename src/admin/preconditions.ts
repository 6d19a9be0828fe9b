import { ServiceError } from '../errors.ts';
import type { Expected } from '../files/changes.ts';

const ETAG = /^"([0-9a-f]{64})"$/;

/** The headers that say what a change is based on. */
export interface Conditions {
  'if-match'?: string | undefined;
  'if-none-match'?: string | undefined;
}

/**
 * What a write expects at its path: `absent`, a file with one of several contents, or anything. A change has to say it, as agents change
 * the same files at the same time.
 *
 * @throws ServiceError 428 when it does not, 400 for a header that is not valid.
 */
export function readPrecondition(headers: Conditions): Expected | 'absent' {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match !== undefined && noneMatch !== undefined) {
    throw new ServiceError('both_preconditions');
  }
  if (noneMatch !== undefined) {
    if (noneMatch.trim() === '*') return 'absent';
    throw new ServiceError('invalid_if_none_match');
  }
  if (match === undefined) throw new ServiceError('precondition_required');
  if (match.trim() === '*') return 'anything';
  return { sha256: entityTags(match) };
}

/** Whether the client has the content already. */
export function isNotModified(sha256: string, { 'if-none-match': noneMatch }: Conditions): boolean {
  if (noneMatch === undefined) return false;
  // Weak tags compare like strong ones here (RFC 9110, section 13.1.2).
  return noneMatch
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || tag === entityTag(sha256));
}

/** The ETag of a content. */
export function entityTag(sha256: string): string {
  return `"${sha256}"`;
}

/** Tags that are no hash match nothing. */
function entityTags(header: string): string[] {
  return header.split(',').flatMap((tag) => ETAG.exec(tag.trim())?.[1] ?? []);
}
