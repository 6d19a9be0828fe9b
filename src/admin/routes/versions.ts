import { z } from 'zod';
import { History } from '../../history/history.ts';
import { type LogEntry, logPage, withChanges } from '../../history/log.ts';
import { versionRecord } from '../../history/version.ts';
import { departureOf } from '../../http/departure.ts';
import { adminRoutes } from '../context.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import { givenTime, memoryPath, next, pageFields, tenantParams, text } from '../fields.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { readTimes } from '../time-parameters.ts';
import {
  id,
  noSuchVersion,
  versionParams,
  versionSchema,
  versionWithContentSchema,
} from '../version-schemas.ts';

const versionPosition = z.strictObject({ id });

/** The versions of a tenant's files. */
export const versionRoutes = adminRoutes((app, { database, scans }) => {
  const history = new History(database);

  app.get(
    '/tenants/:tenant/versions',
    {
      schema: {
        operationId: 'listVersions',
        summary: 'List the versions of files, newest first, a page at a time',
        tags: ['history'],
        params: tenantParams,
        querystring: z.strictObject({
          path: memoryPath.optional().meta({
            description:
              'For a file, its versions at any path; for a directory, those of everything below it.',
          }),
          path_contains: text(1000).optional().meta({
            description:
              'A part of the path, in upper or lower case. A version that moved a file is found by the old path, too.',
          }),
          since: givenTime.optional(),
          until: givenTime.optional(),
          by: text(255).optional().meta({
            description:
              "A key's id or label, a token's subject, a session's id, an operator's or a job's name, `operator`, or `anonymous`.",
          }),
          by_contains: text(255).optional().meta({
            description:
              "A part of the actor's type, label, subject, name, job, or id, in upper or lower case.",
          }),
          operation: z.enum(['created', 'modified', 'renamed', 'deleted']).optional(),
          ...pageFields(200, 50),
        }),
        response: {
          200: json('A page.', z.object({ versions: z.array(versionSchema), next })),
          ...errorResponses('reads', [noSuchTenant]),
        },
      },
    },
    async (request, reply) => {
      const { tenant } = request.params;
      const { path, by, operation, limit, ...query } = request.query;
      const before = readCursor(versionPosition, query.after);
      const { since, until } = await readTimes(database, { since: query.since, until: query.until });
      const filter = {
        ...(path !== undefined && { path }),
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
        ...(query.path_contains !== undefined && { pathContains: query.path_contains }),
        ...(by !== undefined && { by }),
        ...(query.by_contains !== undefined && { byContains: query.by_contains }),
        ...(operation !== undefined && { operation }),
      };
      const entries = await scans.run(tenant, departureOf(request, reply), () =>
        logPage(history, tenant, filter, before?.id ?? null, limit + 1),
      );
      const shown = entries.slice(0, limit);
      const last = shown.at(-1)?.version;
      const more = entries.length > limit && last !== undefined;
      return {
        versions: shown.map(entryRecord),
        next: more ? writeCursor({ id: last.id }) : null,
      };
    },
  );

  app.get(
    '/tenants/:tenant/versions/:version',
    {
      schema: {
        operationId: 'getVersion',
        summary: 'Get a version with its content',
        tags: ['history'],
        params: versionParams,
        response: {
          200: json('The version.', versionWithContentSchema),
          ...errorResponses('reads', [noSuchTenant, noSuchVersion]),
        },
      },
    },
    async ({ params: { tenant, version: given } }) => {
      const { version, content } = await history.existing(tenant, given);
      const [entry] = await withChanges(history, tenant, [version]);
      if (entry === undefined) throw new Error('A version has no change.');
      return { ...entryRecord(entry), content };
    },
  );
});

function entryRecord({ version, replaced, before }: LogEntry) {
  return {
    ...versionRecord(version),
    previous_version: replaced,
    previous_path: before.kind === 'file' ? before.path : null,
  };
}
