import type { z } from 'zod';

/* Opaque texts for the position after a page, which a caller sends back to get the next page. */

export function encodeCursor(position: unknown): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/**
 * Decodes a position that `encodeCursor` encoded.
 *
 * @returns undefined if the text is not a position in the list, or contains a text that the database cannot store
 */
export function decodeCursor<T>(schema: z.ZodType<T>, cursor: string): T | undefined {
  const position = parseJson(Buffer.from(cursor, 'base64url').toString());
  return isStorable(position) ? schema.safeParse(position).data : undefined;
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return value !== undefined;
  return Object.values(value).every(isStorable);
}
