import fp from 'fastify-plugin';
import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { contentHash, createAt, deleteAt, type Expected, moveAt, replaceAt } from '../files/changes.ts';
import { contentAt, contentOf, type ListedEntry, listPage } from '../files/listing.ts';
import { History } from '../history/history.ts';
import { redactedAt } from '../history/past.ts';
import { utf8Problem } from '../http/json-body.ts';
import { noteAudit } from './audit.ts';
import { originOf } from './authentication.ts';
import { reserveResponse } from './concurrency-limit.ts';
import { adminRoutes } from './context.ts';
import {
  flag,
  givenTime,
  memoryPath,
  next,
  pageFields,
  pathOrRoot,
  readCursor,
  readTimes,
  tenantParams,
  text,
  time,
  writeCursor,
} from './fields.ts';
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
} from './files.ts';
import { tenantOf } from './required-tenant.ts';
import { archived, errorResponses, json, noSuchTenant, overQuota } from './responses.ts';

const ETAG = /^"([0-9a-f]{64})"$/;

/** The headers that say what a change is based on. */
export interface Conditions {
  'if-match'?: string | undefined;
  'if-none-match'?: string | undefined;
}

/**
 * What a write expects at its path: `absent`, a file with one of several contents, or anything. A change has to say it, as agents change
 * the same files at the same time.
 *
 * @throws ServiceError 428 when it does not, 400 for a header that is not valid.
 */
export function readPrecondition(headers: Conditions): Expected | 'absent' {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match !== undefined && noneMatch !== undefined) {
    throw new ServiceError('both_preconditions');
  }
  if (noneMatch !== undefined) {
    if (noneMatch.trim() === '*') return 'absent';
    throw new ServiceError('invalid_if_none_match');
  }
  if (match === undefined) throw new ServiceError('precondition_required');
  if (match.trim() === '*') return 'anything';
  return { sha256: entityTags(match) };
}

/** Whether the client has the content already. */
export function isNotModified(sha256: string, { 'if-none-match': noneMatch }: Conditions): boolean {
  if (noneMatch === undefined) return false;
  // Weak tags compare like strong ones here (RFC 9110, section 13.1.2).
  return noneMatch
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || tag === entityTag(sha256));
}

/** The ETag of a content. */
export function entityTag(sha256: string): string {
  return `"${sha256}"`;
}

/** Tags that are no hash match nothing. */
function entityTags(header: string): string[] {
  return header.split(',').flatMap((tag) => ETAG.exec(tag.trim())?.[1] ?? []);
}

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
export const memoryRoutes = adminRoutes((app, { database, services }) => {
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
      const session = { services, tenant: tenantOf(request), origin: originOf(request) };
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

const movedSchema = z
  .object({
    from: z.string(),
    path: z.string(),
    message: z.string().meta({ description: 'The message that an agent would read.' }),
  })
  .meta({ id: 'Moved' });

/** `POST …/move`: a file or a directory to another path. */
export const moveRoutes = adminRoutes((app, { services }) => {
  app.post(
    '/tenants/:tenant/move',
    {
      schema: {
        operationId: 'move',
        summary: 'Move or rename a file, or a directory and everything below it',
        description:
          'Nothing is overwritten, and the history follows each file. Missing directories above the new path are made. Moving it back undoes it.',
        tags: ['memory'],
        params: tenantParams,
        body: z.strictObject({ from: memoryPath, to: memoryPath }),
        response: {
          200: json('It is moved.', movedSchema),
          ...errorResponses('takes JSON', [
            noSuchTenant,
            nothingThere,
            new ServiceError('destination_exists', '/memories/notes.md'),
            overQuota('change'),
          ]),
        },
      },
    },
    async (request) => {
      const { from, to } = request.body;
      const session = { services, tenant: tenantOf(request), origin: originOf(request) };
      const message = await moveAt(session, from, to);
      return { from, path: to, message };
    },
  );
});

/** Lets the routes of a scope take text, and nothing else: UTF-8, byte for byte. */
const textBody = fp(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('text/plain', { parseAs: 'buffer' }, (request, body, done) => {
      const problem = utf8Problem(request.headers, body as Buffer);
      if (problem !== undefined) done(problem);
      else done(null, body.toString('utf8'));
    });
  },
  { name: 'text-body' },
);

/** `PUT …/file`: its body is the content. */
export const writeFileRoutes = adminRoutes((app, { services }) => {
  app.register(textBody);

  app.put(
    '/tenants/:tenant/file',
    {
      config: { bodyType: 'text/plain' },
      schema: {
        operationId: 'writeFile',
        summary: 'Create or replace a file',
        description:
          'The rules and limits of agents apply: secrets may be masked, so the `ETag` of the response is that of the content as written. Send `If-None-Match: *` to create a file or `If-Match` to replace one; without either, the response is 428.',
        tags: ['memory'],
        consumes: ['text/plain'],
        params: tenantParams,
        headers: z.object({ 'if-match': ifMatch, 'if-none-match': ifNoneMatch }),
        querystring: z.strictObject({ path: memoryPath }),
        body: z.string().meta({ description: 'The whole content, in UTF-8.' }),
        response: {
          200: { ...json('The file was replaced.', changedSchema), headers: etagHeader },
          201: { ...json('The file was created.', changedSchema), headers: etagHeader },
          ...errorResponses('takes text', [
            noSuchTenant,
            changedSince,
            new ServiceError('precondition_required'),
            new ServiceError('file_too_large', '/memories/notes.md', 1048576),
            overQuota('change'),
            archived,
          ]),
        },
      },
    },
    async (request, reply) => {
      const { path } = request.query;
      const expected = readPrecondition(request.headers);
      const session = { services, tenant: tenantOf(request), origin: originOf(request) };
      const isNew = expected === 'absent';
      const written = isNew
        ? await createAt(session, path, request.body)
        : await replaceAt(session, path, request.body, expected);
      if (written === undefined) throw new ServiceError('no_file_to_replace', path);
      noteAudit(request, { details: { file: written.action } });
      reply.code(isNew ? 201 : 200).header('ETag', entityTag(written.sha256));
      return { path, action: written.action, message: written.message };
    },
  );
});
