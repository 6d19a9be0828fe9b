export const TENANT_ID = /^[A-Za-z0-9._:@-]{1,128}$/;

/** The same in words. */
export const TENANT_ID_RULE = '1 to 128 of the characters A-Z a-z 0-9 . _ : @ -';

const DRAFT_PREFIX = 'draft_';

/** Says in an error why an id cannot be the id of a new tenant. */
export const DRAFT_ID_RULE = `must not start with "${DRAFT_PREFIX}", as the ids of drafts do`;

/** Whether an id is reserved for drafts. Nothing else creates a tenant with such an id, so a closed draft stays closed. */
export function isDraftId(id: string): boolean {
  return id.startsWith(DRAFT_PREFIX);
}
