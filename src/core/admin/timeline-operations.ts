import { z } from 'zod';
import { databaseInstant } from '../database/clock.ts';
import { ServiceError } from '../errors/errors.ts';
import { historyStart } from '../history/past.ts';
import { activity, adjacentChanges } from '../history/timeline.ts';
import { noSuchTenant } from './admin-errors.ts';
import { defineOperation } from './admin-operation.ts';
import { actor, count, givenTime, parseTimes, readTimes, tenantParams, time } from './fields.ts';

const counted = z.int().min(0);
const activitySchema = z
  .object({
    since: time,
    until: time,
    bucket_seconds: z.number(),
    actors: z.array(actor).meta({ description: 'At most 20, the busiest first.' }),
    buckets: z.array(
      z.object({
        start: time,
        counts: z.array(counted).meta({ description: 'Changes by each actor in `actors`.' }),
        others: counted.meta({ description: 'Changes by all other actors.' }),
      }),
    ),
  })
  .meta({ id: 'Activity' });

const adjacentSchema = z
  .object({
    at: time,
    previous: time.nullable().meta({
      description: 'A time of the change before; null if there was none.',
    }),
    next: time
      .nullable()
      .meta({ description: 'The time of the first change after `at`; null when there is none.' }),
  })
  .meta({ id: 'AdjacentChanges' });

export const countChanges = defineOperation({
  id: 'countChanges',
  method: 'GET',
  url: '/tenants/:tenant/activity',
  summary: 'Count the changes over time, by actor',
  tag: 'history',
  params: tenantParams,
  query: z.strictObject({
    since: givenTime.optional().meta({ description: "Default: the history's beginning (`history_since`)." }),
    until: givenTime.optional().meta({ description: 'Default: now.' }),
    buckets: count(1, 500).default(60),
  }),
  response: { description: 'The counts.', schema: activitySchema },
  errors: [noSuchTenant],
  isHeavy: true,
  async run({ database, params: { tenant }, query: { buckets, ...query } }) {
    const now = await databaseInstant(database);
    const times = parseTimes({ since: query.since, until: query.until }, now);
    const { since = await historyStart(database.query, tenant), until = now } = times;
    if (since >= until) throw new ServiceError('since_after_until');
    const { actors, buckets: parts } = await activity(database, tenant, { since, until }, buckets);
    const seconds = (Date.parse(until) - Date.parse(since)) / 1000 / buckets;
    return { since, until, bucket_seconds: seconds, actors, buckets: parts };
  },
});

export const findAdjacentChanges = defineOperation({
  id: 'findAdjacentChanges',
  method: 'GET',
  url: '/tenants/:tenant/adjacent-changes',
  summary: 'The times one change before and one change after a time',
  description:
    'For stepping through the history: at `previous` or `next`, the memory differs by one change. Both times are within the complete history.',
  tag: 'history',
  params: tenantParams,
  query: z.strictObject({ at: givenTime.optional().meta({ description: 'Default: now.' }) }),
  response: { description: 'The times.', schema: adjacentSchema },
  errors: [noSuchTenant],
  isHeavy: true,
  async run({ database, params: { tenant }, query }) {
    const { at = await databaseInstant(database) } = await readTimes(database, { at: query.at });
    return { at, ...(await adjacentChanges(database, tenant, at)) };
  },
});
