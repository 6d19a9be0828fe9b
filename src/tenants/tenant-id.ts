export const TENANT_ID = /^[A-Za-z0-9._:@-]{1,128}$/;

/** The same in words. */
export const TENANT_ID_RULE = '1 to 128 of the characters A-Z a-z 0-9 . _ : @ -';

const DRAFT_PREFIX = 'draft_';

/** Says why an id, even one of an existing tenant, cannot be the id of a new tenant; undefined when it can. */
export function newTenantIdProblem(id: string): string | undefined {
  if (!TENANT_ID.test(id)) return `must be ${TENANT_ID_RULE}`;
  // A shell would read an option.
  if (id.startsWith('-')) return 'must not start with "-"';
  // Clients and proxies resolve these in URLs.
  if (id === '.' || id === '..') return 'must not be . or ..';
  if (isDraftId(id)) return `must not start with "${DRAFT_PREFIX}", as the ids of drafts do`;
  return undefined;
}

/** Whether an id is reserved for drafts. Nothing else creates a tenant with such an id, so a closed draft stays closed. */
export function isDraftId(id: string): boolean {
  return id.startsWith(DRAFT_PREFIX);
}
