import { z } from 'zod';

export const TENANT_ID = /^[A-Za-z0-9._:@-]{1,128}$/;

/** The same in words. */
export const TENANT_ID_RULE = '1 to 128 of the characters A-Z a-z 0-9 . _ : @ -';

/**
 * Ids that a new tenant can have. A shell reads `-x` as an option, clients and proxies resolve `.` and `..` in URLs,
 * and `draft_` is for drafts: no other tenant gets such an id, so a closed draft stays closed. Existing tenants may
 * have other ids.
 */
export const NEW_TENANT_ID = /^(?!-|draft_|\.{1,2}$)[A-Za-z0-9._:@-]{1,128}$/;

/** The same in words. */
export const NEW_TENANT_ID_RULE = `${TENANT_ID_RULE}, without "-" or "draft_" at the start, and not "." or ".."`;

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
