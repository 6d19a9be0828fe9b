import { z } from 'zod';
import { ServiceError } from '../errors.ts';
import { storedTime } from '../util/rfc3339.ts';
import { storableText } from '../util/storable-text.ts';

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
