export const TENANT_ID = /^[A-Za-z0-9._:@-]{1,128}$/;

/** The same in words. */
export const TENANT_ID_RULE = '1 to 128 of the characters A-Z a-z 0-9 . _ : @ -';

/** The ids of drafts. No request creates a tenant with such an id: a draft that is closed stays away. */
const DRAFT_ID = /^draft_[0-9a-f]{32}$/;

export function isDraftId(id: string): boolean {
  return DRAFT_ID.test(id);
}
