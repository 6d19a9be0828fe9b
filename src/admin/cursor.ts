import type { z } from 'zod';
import { ServiceError } from '../errors.ts';

/** Where the next page begins, as a text that means nothing to the caller. */
export function writeCursor(position: unknown): string | null {
  return position === null ? null : Buffer.from(JSON.stringify(position)).toString('base64url');
}

/**
 * Reads what `writeCursor` wrote.
 *
 * @throws ServiceError 400 for anything else.
 */
export function readCursor<T>(schema: z.ZodType<T>, given: string | undefined): T | null {
  if (given === undefined) return null;
  const parsed = schema.safeParse(parseJson(Buffer.from(given, 'base64url').toString()));
  if (parsed.success) return parsed.data;
  throw new ServiceError('invalid_cursor');
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
