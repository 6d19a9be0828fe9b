import { z } from 'zod';
import { storableText } from '../lib/text-forms.ts';

export const MAX_METADATA = 16;

/** The name that zod silently omits from records. */
export const REJECTED_METADATA_KEY = '__proto__';

export const metadataKey = storableText(64).min(1);
export const metadataValue = storableText(512);

/** The form for a pair in a query string and on the command line. */
const PAIR_RULE =
  'a key of 1 to 64 characters, an equals sign, and a value of at most 512 characters, such as plan=pro';

const NOT_REJECTED = `must not have a pair named ${REJECTED_METADATA_KEY}.`;

/** Schema for metadata pairs. Rejects the name `__proto__`, which zod would silently omit. */
export function metadataPairs<Key extends z.core.$ZodRecordKey, Value extends z.ZodType>(
  key: Key,
  value: Value,
) {
  return z.preprocess(
    (given, { issues }) => {
      if (typeof given === 'object' && given !== null && Object.hasOwn(given, REJECTED_METADATA_KEY))
        issues.push({ code: 'custom', message: NOT_REJECTED, input: given });
      return given;
    },
    z.record(key, value),
  );
}

/** Splits a text such as `plan=pro` at its first equals sign. Returns null if the text is not a pair. */
function parsePair(text: string): [key: string, value: string] | null {
  const [key, value] = text.split(/=(.*)/s);
  const isPair = metadataKey.safeParse(key).success && metadataValue.safeParse(value).success;
  return isPair ? [key as string, value as string] : null;
}

/** Returns a sentence ending about invalid pairs, or null. */
export function pairsProblem(texts: readonly string[]): string | null {
  const pairs = texts.map(parsePair);
  if (pairs.includes(null)) return `must be ${PAIR_RULE}.`;
  const keys = new Set(pairs.map((pair) => pair?.[0]));
  if (keys.has(REJECTED_METADATA_KEY)) return NOT_REJECTED;
  return keys.size < pairs.length ? 'must not have the same key twice.' : null;
}

/** Converts pairs without a problem to an object. */
export function parsePairs(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(texts.flatMap((text) => [parsePair(text) ?? []]));
}
