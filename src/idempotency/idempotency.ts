import { hash } from 'node:crypto';
import { prefix, resultNotKept } from '../memory/messages.ts';
import type { RequestKey } from '../memory/store.ts';

/**
 * The key of a request.
 *
 * @param key what the caller gave: any text
 * @param input the input of the call; the order of its fields does not matter
 */
export function requestKey(key: string, input: Record<string, unknown>): RequestKey {
  const fields = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1));
  return { keyHash: sha256(key), requestHash: sha256(JSON.stringify(fields)) };
}

/**
 * The keys of a request that writes to a memory which the caller's mounts. `own` is stored for the caller, and says in which memory the
 * write ends, so that the key cannot be used for another memory; `mounted` is stored with the write itself, for this caller only.
 */
export function mountedRequestKeys(
  key: string,
  input: Record<string, unknown>,
  { caller, mounted }: { caller: string; mounted: string },
): { own: RequestKey; mounted: RequestKey } {
  const { keyHash, requestHash } = requestKey(key, input);
  return {
    // The prefixes keep them apart from those of other writes, whatever keys callers choose.
    own: { keyHash, requestHash: `mounted:${sha256(mounted)}` },
    mounted: { keyHash: `via:${sha256(JSON.stringify([caller, key]))}`, requestHash },
  };
}

/** In UTF-16 units. Results are short, except snippets of long lines, and those that quote long texts or paths. */
const MAX_STORED_CHARACTERS = 1024;

/** Returns a result as it is stored for retries: truncated, because no quota counts it (see `StoredResultLimit`). */
export function storedResult(content: string): string {
  if (content.length <= MAX_STORED_CHARACTERS) return content;
  return `${prefix(content, MAX_STORED_CHARACTERS)}\n${resultNotKept}`;
}

function sha256(text: string): string {
  return hash('sha256', text, 'base64url');
}
