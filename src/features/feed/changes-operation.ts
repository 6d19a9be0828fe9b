import type { z } from 'zod';
import { noSuchTenant } from '../../core/admin/admin-errors.ts';
import { type AdminContext, defineOperation } from '../../core/admin/admin-operation.ts';
import { repeatable, tenantId, tenantParams } from '../../core/admin/fields.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { encodeCursor } from '../../core/lib/cursor.ts';
import { changesExpired, invalidChangeCursor } from './change-errors.ts';
import { eventStreamSchema, pageSchema } from './change-event.ts';
import type { ChangeFeed } from './change-feed.ts';
import { changeParameters, readOptions, streamHeaders } from './change-parameters.ts';
import { Changes, parseStart } from './changes.ts';
import type { FleetOptions } from './fleet-events.ts';
import { readEvents } from './read-events.ts';

/** Maximum number of tenants to name. */
const MAX_TENANTS = 100;

const response = {
  description: 'A page, or a stream of events.',
  schema: pageSchema,
  events: eventStreamSchema,
};
const STREAM = 'With `Accept: text/event-stream`, the response is a stream that goes on with each change.';
const STREAM_ERRORS = [new ServiceError('too_many_streams'), new ServiceError('streams_full')];

export const listChanges = defineOperation({
  id: 'listChanges',
  method: 'GET',
  url: '/tenants/:tenant/changes',
  summary: "List a tenant's changes, oldest first, from a position on",
  description: `Each change is there at least once, in the order in which the tenant's changes were made. Read on from the page's \`cursor\`, at any time and after any break, for as long as the history is kept. ${STREAM}`,
  tag: 'history',
  params: tenantParams,
  query: changeParameters,
  headers: streamHeaders,
  response,
  errors: [noSuchTenant, invalidChangeCursor, changesExpired, ...STREAM_ERRORS],
  isHeavy: true,
  async run({ database, params: { tenant }, query: { after, ...query } }) {
    const start = await new Changes(database).begin(tenant, parseStart(after));
    const { events, cursor, hasMore } = await readEvents(database, tenant, start, readOptions(query));
    return { events, cursor: encodeCursor(cursor), has_more: hasMore };
  },
  async stream({ services, database, params: { tenant }, query: { after, ...query }, headers }) {
    const start = parseStart(headers['last-event-id'] || after);
    const feed = await loadChangeFeed(services);
    return feed.follow(tenant, await new Changes(database).begin(tenant, start), readOptions(query));
  },
});

const fleetParameters = changeParameters.safeExtend({
  tenant: repeatable(tenantId, MAX_TENANTS)
    .optional()
    .meta({ description: 'Only this tenant. May be repeated.', examples: [['acme']] }),
});

export const listAllChanges = defineOperation({
  id: 'listAllChanges',
  method: 'GET',
  url: '/changes',
  summary: "List all tenants' changes, a tenant's changes in order, from a position on",
  description: `Each change is there at least once. Read on from the page's \`cursor\`, within \`CHANGE_LOG_DAYS\`. A key limited to certain tenants sees only their changes. Drafts are omitted. A tenant without history has only the creations of files. ${STREAM}`,
  tag: 'history',
  scope: 'handler',
  query: fleetParameters,
  headers: streamHeaders,
  response,
  errors: [
    invalidChangeCursor,
    new ServiceError('log_position_expired'),
    new ServiceError('change_log_off'),
    ...STREAM_ERRORS,
  ],
  isHeavy: true,
  async run({ database, administrator, query: { after, ...query } }) {
    const { FleetLog, beginFleet, readFleetEvents } = await loadFleet();
    const log = new FleetLog(database);
    const options = fleetOptions(administrator, query);
    const start = await beginFleet(log, after);
    const { events, cursor, hasMore } = await readFleetEvents(
      { database, log, tenants: new Changes(database) },
      start,
      options,
    );
    return { events, cursor: encodeCursor(cursor), has_more: hasMore };
  },
  async stream({ services, database, administrator, query: { after, ...query }, headers }) {
    const { FleetLog, beginFleet } = await loadFleet();
    const start = await beginFleet(new FleetLog(database), headers['last-event-id'] || after);
    const feed = await loadChangeFeed(services);
    return feed.followAll(start, fleetOptions(administrator, query));
  },
});

/* Imported on demand, because few commands read the log, and none follows it. */

async function loadFleet() {
  return { ...(await import('./fleet-log.ts')), ...(await import('./fleet-events.ts')) };
}

async function loadChangeFeed(services: AdminContext['services']): Promise<ChangeFeed> {
  const { changeFeed } = await import('./change-feed.ts');
  return (await services()).featureService(changeFeed);
}

function fleetOptions(
  { onlyTenants }: AdminContext['administrator'],
  { tenant: given, ...query }: Omit<z.output<typeof fleetParameters>, 'after'>,
): FleetOptions {
  const wanted = given?.filter((tenant) => onlyTenants?.includes(tenant) ?? true) ?? onlyTenants;
  return { ...readOptions(query), tenants: wanted ?? undefined };
}
