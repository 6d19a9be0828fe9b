import { noSuchTenant } from '../../core/admin/admin-errors.ts';
import { defineOperation } from '../../core/admin/admin-operation.ts';
import { repeatable, tenantId, tenantParams } from '../../core/admin/fields.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { encodeCursor } from '../../core/lib/cursor.ts';
import { changesExpired, invalidChangeCursor } from './change-errors.ts';
import { pageSchema } from './change-event.ts';
import { changeParameters, readOptions } from './change-parameters.ts';
import { Changes, formatCursor, parseStart } from './changes.ts';
import { readEvents } from './read-events.ts';

/** Maximum number of tenants to name. */
const MAX_TENANTS = 100;

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

export const listAllChanges = defineOperation({
  id: 'listAllChanges',
  method: 'GET',
  url: '/changes',
  summary: "List all tenants' changes, a tenant's changes in order, from a position on",
  description:
    "Each change is there at least once. Read on from the page's `cursor`, within `CHANGE_LOG_DAYS`. A key limited to certain tenants sees only their changes. Drafts are omitted. A tenant without history has only the creations of files.",
  tag: 'history',
  scope: 'handler',
  query: changeParameters.safeExtend({
    tenant: repeatable(tenantId, MAX_TENANTS)
      .optional()
      .meta({ description: 'Only this tenant. May be repeated.', examples: [['acme']] }),
  }),
  response: { description: 'A page.', schema: pageSchema },
  errors: [invalidChangeCursor, new ServiceError('log_position_expired'), new ServiceError('change_log_off')],
  isHeavy: true,
  async run({ database, administrator: { onlyTenants }, query: { after, tenant: given, ...query } }) {
    // The import is deferred because few commands read the log.
    const [{ FleetLog }, { beginFleet, readFleetEvents }] = await Promise.all([
      import('./fleet-log.ts'),
      import('./fleet-events.ts'),
    ]);
    const log = new FleetLog(database);
    const wanted = given?.filter((tenant) => onlyTenants?.includes(tenant) ?? true) ?? onlyTenants;
    const tenants = wanted === null ? undefined : new Set(wanted);
    const start = await beginFleet(log, after);
    const page = await readFleetEvents(database, log, start, { ...readOptions(query), tenants });
    return { events: page.events, cursor: encodeCursor(page.cursor), has_more: page.hasMore };
  },
});
