export const TENANT_ID = /^[A-Za-z0-9._:@-]{1,128}$/;

export const TENANT_ID_RULE = '1 to 128 of the characters A-Z a-z 0-9 . _ : @ -';

/**
 * Valid IDs for new tenants. A shell reads `-x` as an option, and clients and proxies resolve `.` and `..` in URLs.
 * `draft_` is reserved for drafts, so that a closed draft's ID is never reused. Existing tenants may have other IDs.
 */
export const NEW_TENANT_ID = /^(?!-|draft_|\.{1,2}$)[A-Za-z0-9._:@-]{1,128}$/;

export const NEW_TENANT_ID_RULE = `${TENANT_ID_RULE}, without "-" or "draft_" at the start, and not "." or ".."`;
