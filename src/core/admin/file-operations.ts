import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { listDirectory as listChildren, type Position, sumSizes as sumPart } from '../files/directory.ts';
import { History } from '../history/history.ts';
import { type EntryRow, redactedAt } from '../history/past.ts';
import { ROOT } from '../memory/path.ts';
import { incomplete, noSuchTenant } from './admin-errors.ts';
import { defineOperation } from './admin-operation.ts';
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

export const nothingThere = new ServiceError('nothing_at', 'acme', '/memories/notes.md');
export const isDirectory = new ServiceError('is_directory', 'acme', '/memories/projects');
export const changedSince = new ServiceError('changed_since_read', '/memories/notes.md');

export const ifMatch = text(1000).optional().meta({
  description: "The file's `ETag` as you read it, or `*` for any content.",
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
        'The number of files that are omitted because they have been redacted since. Only with the first part for the whole memory at a past time.',
    }),
  })
  .meta({ id: 'DirectorySizes' });

export const listDirectory = defineOperation({
  id: 'listDirectory',
  method: 'GET',
  url: '/tenants/:tenant/directory',
  summary: "List a directory's contents, now or at a past time, a page at a time",
  description:
    'Directories come first, then files, each sorted by path in byte order. A page examines ' +
    '`limit` paths, so it may have fewer entries, or none, while `next` is not null.',
  tag: 'memory',
  params: tenantParams,
  query: z.strictObject({
    path: pathOrRoot,
    at: givenTime.optional(),
    from: memoryPath.optional().meta({
      description: 'Start with the files, at this path. By default, the listing starts with the directories.',
    }),
    from_directory: memoryPath.optional().meta({
      description: 'Start with the directories, at this path.',
    }),
    ...pageFields(1000, 500),
    // The cursor contains a path, so it may be longer than other cursors.
    after: text(2 * MAX_PATH)
      .optional()
      .meta({ description: 'The `next` from the previous page.' }),
  }),
  response: { description: 'A page.', schema: listingSchema },
  errors: [noSuchTenant, nothingThere, incomplete],
  async run({ database, params: { tenant }, query: { path, from, from_directory, limit, ...query } }) {
    const { at } = await readTimes(database, { at: query.at });
    const begin = readCursor(position, query.after) ?? startPosition(from, from_directory);
    const page = await listChildren(database, { tenant, path, at }, begin, limit);
    return { path, at: at ?? null, entries: page.entries.map(entryRecord), next: writeCursor(page.next) };
  },
});

export const sumSizes = defineOperation({
  id: 'sumSizes',
  method: 'GET',
  url: '/tenants/:tenant/directory/sizes',
  summary: 'Count the files below a directory, now or at a past time, and those below each directory in it',
  description:
    'Each response covers only a part of the files, so that no request takes long. ' +
    'Add up the counts and sizes from all parts.',
  tag: 'memory',
  params: tenantParams,
  query: z.strictObject({
    path: pathOrRoot,
    at: givenTime.optional(),
    limit: count(1, 20_000).default(20_000).meta({
      description: 'The number of files, directories, and versions that each part examines.',
    }),
    after: text(2 * MAX_PATH)
      .optional()
      .meta({ description: 'The `next` from the previous part.' }),
  }),
  response: { description: 'A part.', schema: sizesSchema },
  errors: [noSuchTenant, nothingThere, incomplete],
  isHeavy: true,
  async run({ database, params: { tenant }, query: { path, limit, ...query } }) {
    const { at } = await readTimes(database, { at: query.at });
    const after = readCursor(text(MAX_PATH), query.after);
    const sizes = await sumPart(database, { tenant, path, at }, { after, rows: limit });
    const isFirstOfPast = at !== undefined && path === ROOT && after === null;
    return {
      path,
      at: at ?? null,
      files: sizes.files,
      size_bytes: sizes.bytes,
      directories: sizes.directories.map((each) => ({
        path: each.path,
        files: each.files,
        size_bytes: each.bytes,
      })),
      next: writeCursor(sizes.next),
      redacted: isFirstOfPast ? (await redactedAt(new History(database), tenant, at)).length : null,
    };
  },
});

function startPosition(file: string | undefined, directory: string | undefined): Position | null {
  if (directory !== undefined) return { section: 'directories', from: directory };
  return file === undefined ? null : { section: 'files', from: file };
}

export function entryRecord({ path, kind, bytes, modified, versionId, memoryId }: EntryRow) {
  return {
    path,
    kind: kind === 'dir' ? ('directory' as const) : kind,
    size_bytes: bytes,
    modified_at: modified,
    version: versionId,
    memory_id: memoryId,
  };
}
