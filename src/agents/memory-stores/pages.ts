import { z } from 'zod';
import { ServiceError } from '../../errors/errors.ts';
import { jsonBytes } from '../../lib/json.ts';
import { storedTime } from '../../lib/rfc3339.ts';
import { storableText } from '../../lib/text.ts';
import type { MemoryLimits } from '../../memory/commands/command.ts';
import { fileJsonBytes } from '../result-bounds.ts';

/** Where a page of each list ends. */
export const positions = {
  stores: z.tuple([z.literal('stores'), storedTime, storableText(128)]),
  memories: z.tuple([z.literal('memories'), storableText(1024)]),
  versions: z.tuple([z.literal('versions'), z.guid()]),
};

/** A position as an opaque text. */
export function writeCursor(position: readonly string[]): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/**
 * Reads what `writeCursor` wrote.
 *
 * @throws ServiceError 400 for anything else.
 */
export function readCursor<T>(schema: z.ZodType<T>, given: string | undefined): T | undefined {
  if (given === undefined) return undefined;
  const parsed = schema.safeParse(parseJson(Buffer.from(given, 'base64url').toString()));
  if (parsed.success && parsed.data !== undefined) return parsed.data;
  throw new ServiceError(
    'invalid_parameter',
    'page: use the `next_page` of an earlier response to the same request.',
  );
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** A page with contents ends with the item that takes it beyond this many bytes, as stored or as sent. */
export const FULL_PAGE_BYTES = 4 * 1024 * 1024;

/** Returns the most bytes that a page with contents is expected to have. */
export function fullPageBytes(limits: MemoryLimits): number {
  return FULL_PAGE_BYTES + fileJsonBytes(limits);
}

/** Returns the first items, up to the item whose JSON takes the page beyond `FULL_PAGE_BYTES`. */
export function fittingItems<Item>(items: readonly Item[]): Item[] {
  let before = 0;
  return items.filter((item) => {
    const fits = before < FULL_PAGE_BYTES;
    if (fits) before += jsonBytes(item);
    return fits;
  });
}
