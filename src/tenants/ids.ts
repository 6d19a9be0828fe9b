import { z } from 'zod';

export const TENANT_ID = /^[A-Za-z0-9._:@-]{1,128}$/;

export const TENANT_ID_RULE = '1 to 128 of the characters A-Z a-z 0-9 . _ : @ -';

/**
 * Valid IDs of new tenants. A shell reads `-x` as an option, and clients and proxies resolve `.` and `..` in URLs.
 * `draft_` is reserved for drafts, so that the ID of a closed draft is never reused. Existing tenants may have other
 * IDs.
 */
export const NEW_TENANT_ID = /^(?!-|draft_|\.{1,2}$)[A-Za-z0-9._:@-]{1,128}$/;

export const NEW_TENANT_ID_RULE = `${TENANT_ID_RULE}, without "-" or "draft_" at the start, and not "." or ".."`;

/** The name that zod silently omits from records. */
export const REFUSED_METADATA_KEY = '__proto__';

/** Schema of metadata pairs. Rejects the name `__proto__`, which zod would silently omit. */
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
