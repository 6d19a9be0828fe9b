import { z } from 'zod';
import { fileJsonBytes } from '../../core/agents/result-bounds.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { decodeCursor } from '../../core/lib/cursor.ts';
import { jsonBytes } from '../../core/lib/json.ts';
import { storedTime } from '../../core/lib/rfc3339.ts';
import { storableText } from '../../core/lib/text-forms.ts';
import type { MemoryLimits } from '../../core/memory/commands/memory-command.ts';

/** A page's end position in each list. */
export const positions = {
  stores: z.tuple([z.literal('stores'), storedTime, storableText(128)]),
  memories: z.tuple([z.literal('memories'), storableText(1024)]),
  versions: z.tuple([z.literal('versions'), z.guid()]),
};

/**
 * Decodes a position that `encodeCursor` encoded.
 *
 * @throws ServiceError 400 if the text is not a valid cursor
 */
export function readCursor<T>(schema: z.ZodType<T>, given: string | undefined): T | undefined {
  if (given === undefined) return undefined;
  const position = decodeCursor(schema, given);
  if (position !== undefined) return position;
  throw new ServiceError(
    'invalid_parameter',
    'page: use the `next_page` of an earlier response to the same request.',
  );
}

/**
 * Maximum bytes on a page with contents, as stored or as sent. The item that exceeds the limit is the last item on its
 * page.
 */
export const FULL_PAGE_BYTES = 4 * 1024 * 1024;

/** Returns the maximum expected bytes on a page with contents. */
export function fullPageBytes(limits: MemoryLimits): number {
  return FULL_PAGE_BYTES + fileJsonBytes(limits);
}

/** Returns the first items, including the item whose JSON exceeds `FULL_PAGE_BYTES`. */
export function fittingItems<Item>(items: readonly Item[]): Item[] {
  let before = 0;
  return items.filter((item) => {
    const fits = before < FULL_PAGE_BYTES;
    if (fits) before += jsonBytes(item);
    return fits;
  });
}
