import { z } from 'zod';
import { betweenVersions, changesBetween, type FileDiff } from '../history/diff.ts';
import { History } from '../history/history.ts';
import { withContents } from '../history/log.ts';
import { historyStart } from '../history/past.ts';
import { type Compare, type Difference, differenceOf, MAX_WORK } from '../history/patch.ts';
import { departureOf } from '../http/access-log.ts';
import { jsonBytes } from '../lib/json.ts';
import { storedTime } from '../lib/rfc3339.ts';
import { timeSliced } from '../lib/time-slice.ts';
import { adminRoutes } from './context.ts';
import { differenceRecord, differenceSchema } from './differences.ts';
import {
  givenTime,
  next,
  pageFields,
  pathOrRoot,
  readCursor,
  readTimes,
  tenantParams,
  time,
  versionId,
  writeCursor,
} from './fields.ts';
import { incomplete } from './files.ts';
import { errorResponses, json, noSuchTenant } from './responses.ts';
import { noSuchVersion, versionParams } from './versions.ts';

const diffPosition = z.strictObject({ at: storedTime, to: storedTime, skip: z.int().min(0) });

/** A page of differences also ends once its patches have so many bytes in JSON, or cost `MAX_WORK` to make. */
const PATCH_BYTES = 4 * 1024 * 1024;

/** What changes are made of: by a version, or between two times. */
export const diffRoutes = adminRoutes((app, { database, patches }) => {
  const history = new History(database);

  /**
   * Compares as many changes as a page may have, after the first `skip` ones. Those that leave a file as it is are left out.
   *
   * @returns `taken`: how many changes those were, with those left out
   */
  async function page(
    tenant: string,
    all: AsyncIterable<FileDiff>,
    { skip, limit, signal }: { skip: number; limit: number; signal: AbortSignal },
  ) {
    const changes: Difference[] = [];
    let taken = 0;
    let bytes = 0;
    let work = 0;
    for await (const loaded of withContents(history, tenant, skipped(all, skip))) {
      if (changes.length >= limit || bytes >= PATCH_BYTES || work >= MAX_WORK)
        return { changes, taken, isLast: false };
      const compare: Compare = (before, after) => patches.compare(before, after, signal);
      const difference = await differenceOf(loaded, compare);
      taken++;
      bytes += jsonBytes(difference.patch);
      work += difference.work;
      if (difference.patch !== '') changes.push(difference);
    }
    return { changes, taken, isLast: true };
  }

  app.get(
    '/tenants/:tenant/versions/:version/diff',
    {
      schema: {
        operationId: 'diffVersion',
        summary: 'Show what a version changed, or how it differs from another version',
        tags: ['history'],
        params: versionParams,
        querystring: z.strictObject({
          against: versionId.optional().meta({
            description: 'The version to compare with, of any file; it becomes the old side.',
          }),
        }),
        response: {
          200: json('One difference, or none.', z.object({ changes: z.array(differenceSchema) })),
          ...errorResponses('reads', [noSuchTenant, noSuchVersion]),
        },
      },
    },
    async (request, reply) => {
      const { tenant, version } = request.params;
      const { against } = request.query;
      const signal = departureOf(request, reply);
      const [first, second] = against === undefined ? [version, undefined] : [against, version];
      const changes = betweenVersions(history, tenant, first, second);
      const found = await page(tenant, changes, { skip: 0, limit: 1, signal });
      return { changes: found.changes.map(differenceRecord) };
    },
  );

  app.get(
    '/tenants/:tenant/diff',
    {
      schema: {
        operationId: 'diffTimes',
        summary: 'Compare the files at and below a path at two times, a page at a time',
        description: 'A page also ends once its patches exceed 4 MiB or become expensive to compute.',
        tags: ['history'],
        params: tenantParams,
        querystring: z.strictObject({
          path: pathOrRoot,
          at: givenTime
            .optional()
            .meta({ description: 'Default: the beginning of the history (`history_since`).' }),
          to: givenTime.optional().meta({ description: 'Default: now.' }),
          ...pageFields(100, 50),
        }),
        response: {
          200: json(
            'A page.',
            z.object({ path: z.string(), at: time, to: time, changes: z.array(differenceSchema), next }),
          ),
          ...errorResponses('reads', [noSuchTenant, incomplete]),
        },
      },
    },
    async (request, reply) => {
      const { tenant } = request.params;
      const { path, limit, ...query } = request.query;
      const signal = departureOf(request, reply);
      const position = readCursor(diffPosition, query.after);
      const times = await readTimes(database, { at: query.at, to: query.to });
      // The next pages are of the same times.
      const at = position?.at ?? times.at ?? (await historyStart(database.query, tenant));
      const to = position?.to ?? times.to ?? times.now;
      const skip = position?.skip ?? 0;
      const all = changesBetween(history, tenant, path, { from: at, to });
      const { changes, taken, isLast } = await page(tenant, all, { skip, limit, signal });
      const more = isLast ? null : { at, to, skip: skip + taken };
      return { path, at, to, changes: changes.map(differenceRecord), next: writeCursor(more) };
    },
  );
});

async function* skipped<T>(all: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let index = 0;
  for await (const each of timeSliced(all)) if (index++ >= count) yield each;
}
