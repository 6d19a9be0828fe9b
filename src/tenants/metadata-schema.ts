import { z } from 'zod';

/** The name that a record of zod leaves out without an error. */
export const REFUSED_METADATA_KEY = '__proto__';

/** Pairs of metadata. Every name is kept but `__proto__`, which is refused. */
export function metadataPairs<Key extends z.core.$ZodRecordKey, Value extends z.ZodType>(
  key: Key,
  value: Value,
) {
  return z.preprocess(
    (given, { issues }) => {
      if (typeof given === 'object' && given !== null && Object.hasOwn(given, REFUSED_METADATA_KEY)) {
        issues.push({
          code: 'custom',
          message: `must not have a pair named ${REFUSED_METADATA_KEY}.`,
          input: given,
        });
      }
      return given;
    },
    z.record(key, value),
  );
}
