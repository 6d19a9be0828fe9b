import { z } from 'zod';
import { betweenVersions, changesBetween } from '../../history/diff.ts';
import { type Difference, differences } from '../../history/differences.ts';
import { History } from '../../history/history.ts';
import { existingTenant, Tenants } from '../../tenants/tenants.ts';
import { adminRoutes } from '../context.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { givenTime, next, pageFields, pathOrRoot, tenantParams, time, versionId } from '../fields.ts';
import { incomplete } from '../file-schemas.ts';
import { readTimes } from '../instants.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { id, noSuchVersion, versionParams } from '../version-schemas.ts';

const differenceSchema = z
  .object({
    old_path: z.string().nullable(),
    path: z.string().nullable(),
    old_version: id.nullable(),
    version: id.nullable(),
    patch: z.string().nullable().meta({ description: 'As `git diff` writes it.' }),
    no_patch_reason: z
      .string()
      .nullable()
      .meta({ description: 'Why there is no patch: a version was redacted, or is not kept any more.' }),
  })
  .meta({ id: 'Difference' });

const diffPosition = z.strictObject({ to: z.iso.datetime({ precision: 6 }), skip: z.int().min(0) });

/** A page of differences ends once its patches have so many characters. */
const PATCH_CHARACTERS = 4 * 1024 * 1024;

/** What changes are made of: by a version, or between two times. */
export const diffRoutes = adminRoutes((app, { database }) => {
  const tenants = new Tenants(database);
  const history = new History(database);

  app.get(
    '/tenants/:tenant/versions/:version/diff',
    {
      schema: {
        operationId: 'diffVersion',
        summary: 'What a version changed, or how it differs from another one',
        tags: ['history'],
        params: versionParams,
        querystring: z.strictObject({
          against: versionId.optional().meta({
            description: 'The version to compare with, of any file; it is the old side.',
          }),
        }),
        response: {
          200: json('One difference, or none.', z.object({ changes: z.array(differenceSchema) })),
          ...errorResponses('reads', [noSuchTenant, noSuchVersion]),
        },
      },
    },
    async ({ params: { tenant, version }, query: { against } }) => {
      await existingTenant(tenants, tenant);
      const [first, second] = against === undefined ? [version, undefined] : [against, version];
      const changes = betweenVersions(history, tenant, first, second);
      const found = await pageOf(differences(history, tenant, changes), 1);
      return { changes: found.changes.map(differenceRecord) };
    },
  );

  app.get(
    '/tenants/:tenant/diff',
    {
      schema: {
        operationId: 'diffTimes',
        summary: 'How the files at a path and below it differ between two times, a page at a time',
        description: 'A page also ends once its patches have 4 MiB.',
        tags: ['history'],
        params: tenantParams,
        querystring: z.strictObject({
          path: pathOrRoot,
          at: givenTime,
          to: givenTime.optional().meta({ description: 'By default now.' }),
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
    async ({ params: { tenant }, query: { path, limit, ...query } }) => {
      await existingTenant(tenants, tenant);
      const position = readCursor(diffPosition, query.after);
      const times = await readTimes(database, { at: query.at, to: query.to });
      const { at = times.now } = times;
      // The next pages are of the same times.
      const to = position?.to ?? times.to ?? times.now;
      const skip = position?.skip ?? 0;
      const all = changesBetween(history, tenant, path, { from: at, to });
      const { changes, isLast } = await pageOf(differences(history, tenant, skipped(all, skip)), limit);
      const more = isLast ? null : { to, skip: skip + changes.length };
      return { path, at, to, changes: changes.map(differenceRecord), next: writeCursor(more) };
    },
  );
});

function differenceRecord({ oldPath, path, oldVersion, version, patch, noPatchReason }: Difference) {
  return { old_path: oldPath, path, old_version: oldVersion, version, patch, no_patch_reason: noPatchReason };
}

async function* skipped<T>(all: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let index = 0;
  for await (const each of all) if (index++ >= count) yield each;
}

/** Takes as many as a page may have. */
async function pageOf(all: AsyncIterable<Difference>, limit: number) {
  const changes: Difference[] = [];
  let characters = 0;
  for await (const each of all) {
    if (changes.length >= limit || characters >= PATCH_CHARACTERS) return { changes, isLast: false };
    changes.push(each);
    characters += each.patch?.length ?? 0;
  }
  return { changes, isLast: true };
}
