import { z } from 'zod';
import { databaseInstant } from '../database/clock.ts';
import { betweenVersions, changesBetween, type FileDiff } from '../history/diff.ts';
import { History } from '../history/history.ts';
import { withContents } from '../history/log.ts';
import { historyStart } from '../history/past.ts';
import { type Compare, type Difference, findDifference, MAX_WORK } from '../history/patch.ts';
import { jsonBytes } from '../lib/json.ts';
import { storedTime } from '../lib/rfc3339.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { incomplete, noSuchTenant } from './admin-errors.ts';
import { defineOperation } from './admin-operation.ts';
import { differenceRecord, differenceSchema } from './differences.ts';
import {
  givenTime,
  next,
  pageFields,
  parseTimes,
  pathOrRoot,
  readCursor,
  tenantParams,
  time,
  versionId,
  writeCursor,
} from './fields.ts';
import { noSuchVersion, versionParams } from './version-operations.ts';

const diffPosition = z.strictObject({ at: storedTime, to: storedTime, skip: z.int().min(0) });

/** A page of differences also ends when its patches reach this number of bytes in JSON, or `MAX_WORK`. */
const PATCH_BYTES = 4 * 1024 * 1024;

export const diffVersion = defineOperation({
  id: 'diffVersion',
  method: 'GET',
  url: '/tenants/:tenant/versions/:version/diff',
  summary: 'Show the changes in a version, or its differences from another version',
  tag: 'history',
  params: versionParams,
  query: z.strictObject({
    against: versionId.optional().meta({
      description: 'The version to compare with, from any file; it becomes the old side.',
    }),
  }),
  response: {
    description: 'One difference, or none.',
    schema: z.object({ changes: z.array(differenceSchema) }),
  },
  errors: [noSuchTenant, noSuchVersion],
  async run({ database, params: { tenant, version }, query: { against }, compare }) {
    const [first, second] = against === undefined ? [version, undefined] : [against, version];
    const history = new History(database);
    const all = betweenVersions(history, tenant, first, second);
    const { changes } = await collectDifferences(history, tenant, all, { skip: 0, limit: 1, compare });
    return { changes: changes.map(differenceRecord) };
  },
});

export const diffTimes = defineOperation({
  id: 'diffTimes',
  method: 'GET',
  url: '/tenants/:tenant/diff',
  summary: 'Compare the files at and below a path at two times, a page at a time',
  description: 'A page also ends once its patches exceed 4 MiB or become expensive to compute.',
  tag: 'history',
  params: tenantParams,
  query: z.strictObject({
    path: pathOrRoot,
    at: givenTime.optional().meta({ description: "Default: the history's beginning (`history_since`)." }),
    to: givenTime.optional().meta({ description: 'Default: now.' }),
    ...pageFields(100, 50),
  }),
  response: {
    description: 'A page.',
    schema: z.object({ path: z.string(), at: time, to: time, changes: z.array(differenceSchema), next }),
  },
  errors: [noSuchTenant, incomplete],
  async run({ database, params: { tenant }, query: { path, limit, ...query }, compare }) {
    const history = new History(database);
    const position = readCursor(diffPosition, query.after);
    const now = await databaseInstant(database);
    const times = parseTimes({ at: query.at, to: query.to }, now);
    // The cursor keeps the times, so that all pages compare the same states.
    const at = position?.at ?? times.at ?? (await historyStart(database.query, tenant));
    const to = position?.to ?? times.to ?? now;
    const skip = position?.skip ?? 0;
    const all = changesBetween(history, tenant, path, { from: at, to });
    const { changes, taken, isLast } = await collectDifferences(history, tenant, all, {
      skip,
      limit,
      compare,
    });
    const more = isLast ? null : { at, to, skip: skip + taken };
    return { path, at, to, changes: changes.map(differenceRecord), next: writeCursor(more) };
  },
});

/**
 * Compares changes after the first `skip` changes until the page is full. Changes that leave a file unchanged are
 * omitted.
 *
 * @returns `taken`: the number of compared changes, including the omitted changes
 */
async function collectDifferences(
  history: History,
  tenant: string,
  all: AsyncIterable<FileDiff>,
  { skip, limit, compare }: { skip: number; limit: number; compare: Compare },
) {
  const changes: Difference[] = [];
  let taken = 0;
  let bytes = 0;
  let work = 0;
  for await (const loaded of withContents(history, tenant, skipItems(all, skip))) {
    if (changes.length >= limit || bytes >= PATCH_BYTES || work >= MAX_WORK)
      return { changes, taken, isLast: false };
    const difference = await findDifference(loaded, compare);
    taken++;
    bytes += jsonBytes(difference.patch);
    work += difference.work;
    if (difference.patch !== '') changes.push(difference);
  }
  return { changes, taken, isLast: true };
}

async function* skipItems<T>(all: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let index = 0;
  for await (const each of timeSliced(all)) if (index++ >= count) yield each;
}
