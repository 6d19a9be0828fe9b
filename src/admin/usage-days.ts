import { z } from 'zod';
import type { Database } from '../postgres/database.ts';
import { type Days, daysOf } from '../usage/days.ts';
import { givenTime } from './fields.ts';
import { readTimes } from './time-parameters.ts';

/* What the usage of a tenant and of all tenants by day have in common. */

const counted = z.int().min(0);

export const day = z.string().meta({ description: 'By UTC.', examples: ['2026-11-23'] });

export const usesFields = {
  reads: counted.meta({ description: 'Calls that read or searched.' }),
  writes: counted.meta({ description: 'Calls that write, including those with invalid input.' }),
  refused: counted.meta({
    description:
      'Requests that were rejected with 403, 409 or 429, and writes that were refused because the memory is full, archived or read-only.',
  }),
};

export const daysFields = {
  since: givenTime.default('30d'),
  until: givenTime
    .optional()
    .meta({ description: 'Excludes days that begin at or after this time. Same format as `since`.' }),
};

/** @throws ServiceError for a text that is not a time */
export async function readDays(
  database: Database,
  given: { since: string; until?: string | undefined },
): Promise<Days> {
  const { since, until } = await readTimes(database, { since: given.since, until: given.until });
  return daysOf({ since: since ?? given.since, until });
}
