import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { contentHash, deleteAt } from '../../files/changes.ts';
import { contentAt, contentOf, type ListedEntry, listPage } from '../../files/listing.ts';
import { History } from '../../history/history.ts';
import { redactedAt } from '../../history/past.ts';
import { noteAudit } from '../audit.ts';
import { originOf } from '../authentication.ts';
import { reserveResponse } from '../concurrency-limit.ts';
import { adminRoutes } from '../context.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import {
  flag,
  givenTime,
  memoryPath,
  next,
  pageFields,
  pathOrRoot,
  tenantParams,
  text,
  time,
} from '../fields.ts';
import {
  changedSchema,
  changedSince,
  entrySchema,
  etagHeader,
  ifMatch,
  ifNoneMatch,
  incomplete,
  isDirectory,
  nothingThere,
} from '../file-schemas.ts';
import { entityTag, isNotModified, readPrecondition } from '../preconditions.ts';
import { tenantOf } from '../required-tenant.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';
import { readTimes } from '../time-parameters.ts';

const treeSchema = z
  .object({
    path: z.string(),
    at: time.nullable(),
    entries: z.array(entrySchema),
    next,
    redacted: z.int().nullable().meta({
      description: 'For a past time, how many files are omitted because they have been redacted since.',
    }),
  })
  .meta({ id: 'TreePage' });

/** The files of a tenant. */
export const memoryRoutes = adminRoutes((app, { config, database }) => {
  const history = new History(database);

  app.get(
    '/tenants/:tenant/tree',
    {
      schema: {
        operationId: 'listTree',
        summary: 'List the entries at and below a path, now or at a past time, a page at a time',
        description: 'In byte order of the paths: `/memories/a-b` comes before `/memories/a/b`.',
        tags: ['memory'],
        params: tenantParams,
        querystring: z.strictObject({
          path: pathOrRoot,
          at: givenTime.optional(),
          ...pageFields(1000, 500),
        }),
        response: {
          200: json('A page.', treeSchema),
          ...errorResponses('reads', [noSuchTenant, nothingThere, incomplete]),
        },
      },
    },
    async ({ params: { tenant }, query: { path, limit, ...query } }) => {
      const position = readCursor(text(5000), query.after) ?? '';
      const { at } = await readTimes(database, { at: query.at });
      const page = { after: position, limit: limit + 1 };
      const entries = await listPage({ database, history }, tenant, { path, at }, page);
      const shown = entries.slice(0, limit);
      return {
        path,
        at: at ?? null,
        entries: shown.map(entryRecord),
        next: entries.length > limit ? writeCursor(shown.at(-1)?.path ?? null) : null,
        redacted: at === undefined ? null : (await redactedAt(history, tenant, at)).length,
      };
    },
  );

  app.get(
    '/tenants/:tenant/file',
    {
      schema: {
        operationId: 'readFile',
        summary: 'Read a file, now or at a past time, byte for byte',
        description: 'A byte order mark is part of the content: keep it when you decode.',
        tags: ['memory'],
        params: tenantParams,
        headers: z.object({ 'if-none-match': ifNoneMatch }),
        querystring: z.strictObject({ path: memoryPath, at: givenTime.optional() }),
        response: {
          200: {
            description: 'The content.',
            headers: etagHeader,
            content: { 'text/plain': { schema: z.string() } },
          },
          304: z.null().meta({ description: 'The client has this content already (`If-None-Match`).' }),
          ...errorResponses('reads', [noSuchTenant, nothingThere, isDirectory, incomplete]),
        },
      },
    },
    async (request, reply) => {
      const { params, query, headers } = request;
      const { tenant } = params;
      const { path, at: given } = query;
      const { at } = await readTimes(database, { at: given });
      const content =
        at === undefined
          ? await contentOf(database, tenant, path)
          : await contentAt(history, tenant, path, at);
      const sha256 = contentHash(content);
      reply.header('ETag', entityTag(sha256));
      if (isNotModified(sha256, headers)) return reply.code(304).send(null);
      await reserveResponse(request, Buffer.byteLength(content));
      return reply.type('text/plain; charset=utf-8').send(content);
    },
  );

  app.delete(
    '/tenants/:tenant/file',
    {
      schema: {
        operationId: 'deleteFile',
        summary: 'Delete a file, or a directory and everything below it',
        description:
          'Requires `If-Match`; without it, the response is 428. A directory has no `ETag`: send `If-Match: *`.',
        tags: ['memory'],
        params: tenantParams,
        headers: z.object({ 'if-match': ifMatch }),
        querystring: z.strictObject({
          path: memoryPath,
          recursive: flag
            .default(false)
            .meta({ description: 'Whether to delete a directory and everything below it.' }),
        }),
        response: {
          200: json('Deleted.', changedSchema),
          ...errorResponses('changes', [
            noSuchTenant,
            nothingThere,
            isDirectory,
            changedSince,
            new ServiceError('precondition_required'),
          ]),
        },
      },
    },
    async (request) => {
      const { path, recursive } = request.query;
      const expected = readPrecondition({ 'if-match': request.headers['if-match'] });
      if (expected === 'absent') throw new ServiceError('precondition_required');
      const session = { config, database, tenant: tenantOf(request), origin: originOf(request) };
      const message = await deleteAt(session, path, { recursive, expected });
      noteAudit(request, { details: { recursive } });
      return { path, action: 'deleted', message };
    },
  );
});

function entryRecord({ path, kind, bytes, modified, versionId, memoryId }: ListedEntry) {
  return {
    path,
    kind: kind === 'dir' ? 'directory' : kind,
    size_bytes: bytes,
    modified_at: new Date(modified * 1000).toISOString(),
    version: versionId,
    memory_id: memoryId,
  };
}
