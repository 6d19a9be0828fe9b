import { noSuchTenant } from '../../core/admin/admin-errors.ts';
import { defineOperation } from '../../core/admin/admin-operation.ts';
import { tenantParams } from '../../core/admin/fields.ts';
import { changesExpired, invalidChangeCursor } from './change-errors.ts';
import { pageSchema } from './change-event.ts';
import { changeParameters, readOptions } from './change-parameters.ts';
import { Changes, formatCursor, parseStart } from './changes.ts';
import { readEvents } from './read-events.ts';

export const listChanges = defineOperation({
  id: 'listChanges',
  method: 'GET',
  url: '/tenants/:tenant/changes',
  summary: "List a tenant's changes, oldest first, from a position on",
  description:
    "Each change is there at least once, in the order in which the tenant's changes were made. Read on from the page's `cursor`, at any time and after any break, for as long as the history is kept.",
  tag: 'history',
  params: tenantParams,
  query: changeParameters,
  response: { description: 'A page.', schema: pageSchema },
  errors: [noSuchTenant, invalidChangeCursor, changesExpired],
  isHeavy: true,
  async run({ database, params: { tenant }, query: { after, ...query } }) {
    const start = await new Changes(database).begin(tenant, parseStart(after));
    const { events, cursor, hasMore } = await readEvents(database, tenant, start, readOptions(query));
    return { events, cursor: formatCursor(cursor), has_more: hasMore };
  },
});
