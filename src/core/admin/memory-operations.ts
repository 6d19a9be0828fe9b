import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { contentAt, listPage, readContent } from '../files/entry-listing.ts';
import {
  contentHash,
  createAt,
  deleteAt,
  type Expected,
  type FileSession,
  moveAt,
  replaceAt,
  type Written,
} from '../files/file-changes.ts';
import { History } from '../history/history.ts';
import { redactedAt } from '../history/past.ts';
import { cutPage } from '../lib/pages.ts';
import type { MemoryPath } from '../memory/path.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { archived, incomplete, noSuchTenant, overQuota } from './admin-errors.ts';
import { type AdminCall, defineOperation } from './admin-operation.ts';
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
  entryRecord,
  entrySchema,
  etagHeader,
  ifMatch,
  ifNoneMatch,
  isDirectory,
  nothingThere,
} from './file-operations.ts';

const ETAG = /^"([0-9a-f]{64})"$/;

/** The headers with a change's preconditions. */
export interface Conditions {
  'if-match'?: string | undefined;
  'if-none-match'?: string | undefined;
}

/**
 * Returns the precondition of a write: no file, one of several contents, or any state. The precondition is mandatory
 * because agents change the same files concurrently.
 *
 * @throws ServiceError 428 if the precondition is missing, and 400 if a header is invalid
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

export function isNotModified(sha256: string, { 'if-none-match': noneMatch }: Conditions): boolean {
  if (noneMatch === undefined) return false;
  // `If-None-Match` compares weak and strong tags alike (RFC 9110, section 13.1.2).
  return noneMatch
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === '*' || tag === entityTag(sha256));
}

export function entityTag(sha256: string): string {
  return `"${sha256}"`;
}

/** Returns the hashes in an `If-Match` header. Other tags are ignored, because they cannot match. */
function entityTags(header: string): string[] {
  return header.split(',').flatMap((tag) => ETAG.exec(tag.trim())?.[1] ?? []);
}

type Call = Pick<AdminCall, 'services' | 'tenant' | 'origin'>;

/** Returns the services and the tenant for a call that changes files. */
async function fileSession({ services, tenant, origin }: Call): Promise<FileSession> {
  return { services: await services(), tenant, origin };
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

export const listTree = defineOperation({
  id: 'listTree',
  method: 'GET',
  url: '/tenants/:tenant/tree',
  summary: 'List the entries at and below a path, now or at a past time, a page at a time',
  description: 'Sorted by path in byte order: `/memories/a-b` comes before `/memories/a/b`.',
  tag: 'memory',
  params: tenantParams,
  query: z.strictObject({ path: pathOrRoot, at: givenTime.optional(), ...pageFields(1000, 500) }),
  response: { description: 'A page.', schema: treeSchema },
  errors: [noSuchTenant, nothingThere, incomplete],
  async run({ database, params: { tenant }, query: { path, limit, ...query } }) {
    const history = new History(database);
    const position = readCursor(text(5000), query.after) ?? '';
    const { at } = await readTimes(database, { at: query.at });
    const selection = { after: position, limit: limit + 1 };
    const entries = await listPage({ database, history }, tenant, { path, at }, selection);
    const page = cutPage(entries, limit, (last) => last.path);
    return {
      path,
      at: at ?? null,
      entries: page.rows.map(entryRecord),
      next: writeCursor(page.next),
      redacted: at === undefined ? null : (await redactedAt(history, tenant, at)).length,
    };
  },
});

export const readFile = defineOperation({
  id: 'readFile',
  method: 'GET',
  url: '/tenants/:tenant/file',
  summary: 'Read a file, now or at a past time, byte for byte',
  description: 'A byte order mark is part of the content: keep it when you decode.',
  tag: 'memory',
  params: tenantParams,
  headers: z.object({ 'if-none-match': ifNoneMatch }),
  query: z.strictObject({ path: memoryPath, at: givenTime.optional() }),
  response: {
    description: 'The content.',
    schema: z.string(),
    mediaType: 'text/plain',
    headers: etagHeader,
  },
  otherResponses: {
    304: { description: 'The client has this content already (`If-None-Match`).', schema: z.null() },
  },
  errors: [noSuchTenant, nothingThere, isDirectory, incomplete],
  findsTenant: true,
  async run({ database, params: { tenant }, query: { path, ...query } }) {
    const { at } = await readTimes(database, { at: query.at });
    if (at === undefined) return { content: await readContent(database, tenant, path) };
    await requireTenant(database, tenant);
    return { content: await contentAt(new History(database), tenant, path, at) };
  },
  encode({ content }, conditions) {
    const sha256 = contentHash(content);
    const headers = { ETag: entityTag(sha256) };
    return isNotModified(sha256, conditions)
      ? { status: 304, headers, body: null }
      : { headers, body: content };
  },
  async decode(response) {
    // `ignoreBOM` keeps a byte order mark, which belongs to the content.
    return { content: new TextDecoder('utf-8', { ignoreBOM: true }).decode(await response.arrayBuffer()) };
  },
});

export const deleteFile = defineOperation({
  id: 'deleteFile',
  method: 'DELETE',
  url: '/tenants/:tenant/file',
  summary: 'Delete a file, or a directory and everything below it',
  description:
    'Requires `If-Match`; without it, the response is 428. A directory has no `ETag`: send `If-Match: *`.',
  tag: 'memory',
  params: tenantParams,
  headers: z.object({ 'if-match': ifMatch }),
  query: z.strictObject({
    path: memoryPath,
    recursive: flag
      .default(false)
      .meta({ description: 'Whether to delete a directory and everything below it.' }),
  }),
  response: { description: 'Deleted.', schema: changedSchema },
  errors: [noSuchTenant, nothingThere, isDirectory, changedSince, new ServiceError('precondition_required')],
  async run({ query: { path, recursive }, headers, note, ...call }) {
    const expected = readPrecondition({ 'if-match': headers['if-match'] });
    if (expected === 'absent') throw new ServiceError('precondition_required');
    const message = await deleteAt(await fileSession(call), path, { recursive, expected });
    note({ details: { recursive } });
    return { path, action: 'deleted' as const, message };
  },
});

const movedSchema = z
  .object({
    from: z.string(),
    path: z.string(),
    message: z.string().meta({ description: 'The message that an agent would read.' }),
  })
  .meta({ id: 'Moved' });

export const moveFile = defineOperation({
  id: 'move',
  method: 'POST',
  url: '/tenants/:tenant/move',
  summary: 'Move or rename a file, or a directory and everything below it',
  description:
    'Existing files are not overwritten, and the history follows each file. Missing directories above the new path are made. Moving it back undoes it.',
  tag: 'memory',
  params: tenantParams,
  body: z.strictObject({ from: memoryPath, to: memoryPath }),
  response: { description: 'It is moved.', schema: movedSchema },
  errors: [
    noSuchTenant,
    nothingThere,
    new ServiceError('destination_exists', '/memories/notes.md'),
    overQuota('change'),
  ],
  async run({ body: { from, to }, ...call }) {
    return { from, path: to, message: await moveAt(await fileSession(call), from, to) };
  },
});

export const writeFile = defineOperation({
  id: 'writeFile',
  method: 'PUT',
  url: '/tenants/:tenant/file',
  summary: 'Create or replace a file',
  description:
    "The rules and limits for agents apply: secrets may be masked, so the response's `ETag` " +
    'identifies the content as written. Send `If-None-Match: *` to create a file or `If-Match` ' +
    'to replace one; without either, the response is 428.',
  tag: 'memory',
  params: tenantParams,
  headers: z.object({ 'if-match': ifMatch, 'if-none-match': ifNoneMatch }),
  query: z.strictObject({ path: memoryPath }),
  body: z.string().meta({ description: 'The whole content, in UTF-8.' }),
  bodyType: 'text/plain',
  response: { description: 'The file was replaced.', schema: changedSchema, headers: etagHeader },
  otherResponses: {
    201: { description: 'The file was created.', schema: changedSchema, headers: etagHeader },
  },
  errors: [
    noSuchTenant,
    changedSince,
    new ServiceError('precondition_required'),
    new ServiceError('file_too_large', '/memories/notes.md', 1048576),
    overQuota('change'),
    archived,
  ],
  async run({ query: { path }, body, headers, note, ...call }) {
    const session = await fileSession(call);
    const expected = readPrecondition(headers);
    const written =
      expected === 'absent'
        ? await createAt(session, path, body)
        : await replaceAt(session, path, body, expected);
    if (written === undefined) throw new ServiceError('no_file_to_replace', path);
    note({ details: { file: written.action } });
    return { path, ...written };
  },
  encode({ path, action, message, sha256 }) {
    const status = action === 'created' ? 201 : 200;
    return { status, headers: { ETag: entityTag(sha256) }, body: { path, action, message } };
  },
  async decode(response) {
    const sha256 = response.headers.get('etag')?.replaceAll('"', '') ?? '';
    return { ...((await response.json()) as { path: MemoryPath } & Written), sha256 };
  },
});
