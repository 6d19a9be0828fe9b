import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { type ChildRow, listDirectory, type Place, type Position, sumSizes } from '../files/directory.ts';
import { History } from '../history/history.ts';
import { redactedAt } from '../history/past.ts';
import { departureOf } from '../http/access-log.ts';
import { ROOT } from '../memory/path.ts';
import { adminRoutes } from './context.ts';
import { incomplete } from './errors.ts';
import {
  count,
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
import { errorResponses, json, noSuchTenant } from './responses.ts';

export const entrySchema = z
  .object({
    path: z.string(),
    kind: z.enum(['file', 'directory']),
    size_bytes: z.int().nullable().meta({ description: 'Null for a directory.' }),
    modified_at: time,
    version: z.guid().nullable().meta({ description: 'Only for a file at a past time; otherwise null.' }),
    memory_id: z.guid().nullable().meta({ description: 'Only for a file at a past time; otherwise null.' }),
  })
  .meta({ id: 'Entry' });

export const changedSchema = z
  .object({
    path: z.string(),
    action: z.enum(['created', 'replaced', 'unchanged', 'deleted']),
    message: z.string().meta({ description: 'The message that an agent would read.' }),
  })
  .meta({ id: 'Changed' });

export { incomplete } from './errors.ts';

export const nothingThere = new ServiceError('nothing_at', 'acme', '/memories/notes.md');
export const isDirectory = new ServiceError('is_directory', 'acme', '/memories/projects');
export const changedSince = new ServiceError('changed_since_read', '/memories/notes.md');

export const ifMatch = text(1000).optional().meta({
  description: 'The `ETag` of the file as you read it, or `*` for any content.',
});
export const ifNoneMatch = text(1000).optional();
export const etagHeader = {
  ETag: { schema: { type: 'string' }, description: 'The SHA-256 of the content.' },
};

const MAX_PATH = 5000;
const position: z.ZodType<Position> = z.strictObject({
  section: z.enum(['directories', 'files']),
  from: text(MAX_PATH),
});

const listingSchema = z
  .object({
    path: z.string(),
    at: time.nullable(),
    entries: z.array(entrySchema),
    next,
  })
  .meta({ id: 'DirectoryPage' });

const counted = z.int().min(0);
const sizesSchema = z
  .object({
    path: z.string(),
    at: time.nullable(),
    files: counted.meta({ description: 'Files in this part, including those directly in the directory.' }),
    size_bytes: counted,
    directories: z
      .array(z.object({ path: z.string(), files: counted, size_bytes: counted }))
      .meta({ description: 'For this part, one item for each directory that contains files.' }),
    next,
    redacted: counted.nullable().meta({
      description:
        'How many files are omitted because they have been redacted since. Only with the first part for the whole memory at a past time.',
    }),
  })
  .meta({ id: 'DirectorySizes' });

/** One directory of a tenant's memory: fast, however much there is in the others. */
export const directoryRoutes = adminRoutes((app, { database, heavyWork }) => {
  const history = new History(database);
  const placeOf = async (tenant: string, path: Place['path'], given: string | undefined): Promise<Place> => ({
    tenant,
    path,
    at: (await readTimes(database, { at: given })).at,
  });

  app.get(
    '/tenants/:tenant/directory',
    {
      schema: {
        operationId: 'listDirectory',
        summary: 'List the contents of a directory, now or at a past time, a page at a time',
        description:
          'Directories come first, then files, each in byte order of their paths. A page examines `limit` paths, so it may have fewer entries, or none, while `next` is not null.',
        tags: ['memory'],
        params: tenantParams,
        querystring: z.strictObject({
          path: pathOrRoot,
          at: givenTime.optional(),
          from: memoryPath.optional().meta({
            description:
              'Start with the files, at this path. By default, the listing starts with the directories.',
          }),
          from_directory: memoryPath.optional().meta({
            description: 'Start with the directories, at this path.',
          }),
          ...pageFields(1000, 500),
          // A cursor holds a path.
          after: text(2 * MAX_PATH)
            .optional()
            .meta({ description: 'The `next` of the previous page.' }),
        }),
        response: {
          200: json('A page.', listingSchema),
          ...errorResponses('reads', [noSuchTenant, nothingThere, incomplete]),
        },
      },
    },
    async ({ params: { tenant }, query: { path, at, from, from_directory, limit, after } }) => {
      const place = await placeOf(tenant, path, at);
      const begin = readCursor(position, after) ?? startOf(from, from_directory);
      const page = await listDirectory(database, place, begin, limit);
      return {
        path,
        at: place.at ?? null,
        entries: page.entries.map(entryRecord),
        next: writeCursor(page.next),
      };
    },
  );

  app.get(
    '/tenants/:tenant/directory/sizes',
    {
      schema: {
        operationId: 'sumSizes',
        summary:
          'Count the files below a directory, now or at a past time, and those below each directory in it',
        description:
          'Each response covers a part of the files, so that no request takes long. Add up the parts.',
        tags: ['memory'],
        params: tenantParams,
        querystring: z.strictObject({
          path: pathOrRoot,
          at: givenTime.optional(),
          limit: count(1, 20_000).default(20_000).meta({
            description: 'How many files, directories and versions each part examines.',
          }),
          after: text(2 * MAX_PATH)
            .optional()
            .meta({ description: 'The `next` of the previous part.' }),
        }),
        response: {
          200: json('A part.', sizesSchema),
          ...errorResponses('reads', [noSuchTenant, nothingThere, incomplete]),
        },
      },
    },
    async (request, reply) => {
      const { tenant } = request.params;
      const { path, at, limit, after } = request.query;
      const place = await placeOf(tenant, path, at);
      const begin = readCursor(text(MAX_PATH), after);
      const sizes = await heavyWork.run(tenant, departureOf(request, reply), () =>
        sumSizes(database, place, { after: begin, rows: limit }),
      );
      const isFirstOfPast = place.at !== undefined && path === ROOT && begin === null;
      return {
        path,
        at: place.at ?? null,
        files: sizes.files,
        size_bytes: sizes.bytes,
        directories: sizes.directories.map((each) => ({
          path: each.path,
          files: each.files,
          size_bytes: each.bytes,
        })),
        next: writeCursor(sizes.next),
        redacted: isFirstOfPast ? (await redactedAt(history, tenant, place.at ?? '')).length : null,
      };
    },
  );
});

function startOf(file: string | undefined, directory: string | undefined): Position | null {
  if (directory !== undefined) return { section: 'directories', from: directory };
  return file === undefined ? null : { section: 'files', from: file };
}

function entryRecord({ path, kind, bytes, modified, versionId, memoryId }: ChildRow) {
  return {
    path,
    kind: kind === 'dir' ? 'directory' : kind,
    size_bytes: bytes,
    modified_at: modified,
    version: versionId,
    memory_id: memoryId,
  };
}
