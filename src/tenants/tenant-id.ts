export const TENANT_ID = /^[A-Za-z0-9._:@-]{1,128}$/;

/** The same in words. */
export const TENANT_ID_RULE = '1 to 128 of the characters A-Z a-z 0-9 . _ : @ -';
