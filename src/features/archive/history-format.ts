import { z } from 'zod';
import { ServiceError } from '../../core/errors/errors.ts';
import { type Version, versionRecord } from '../../core/history/version.ts';
import { storedActor, storedOrigin } from '../../core/memory/origin.ts';
import { parsePath } from '../../core/memory/path.ts';

/*
 * The format for a history in an archive: docs/history.md, Archives. The directory `history/` next to `memories/`
 * contains a manifest and pages with JSON lines.
 */

export const DIRECTORY = 'history';
export const MANIFEST = 'memory-history.json';
/** Line limit for a page, and the approximate limit on its bytes. A single line may be larger. */
export const PAGE_ROWS = 500;
export const PAGE_BYTES = 4 * 1024 * 1024;

const TIME = z.string().refine(isTime, 'is not a time in UTC to the microsecond');
const ID = z.guid();
const OFFSET = z
  .int()
  .min(0)
  .max(2 ** 30);
const PATH = z.string().refine((path) => {
  const parsed = parsePath(path);
  return parsed.ok && parsed.path === path;
}, 'is not a path');

const ACTOR = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.enum(['api_key', 'admin_key']),
    id: z.string(),
    label: z.string(),
    source: z.string().optional(),
  }),
  z.strictObject({ type: z.literal('user'), id: z.string(), label: z.string() }),
  z.strictObject({ type: z.literal('jwt'), subject: z.string().nullable() }),
  z.strictObject({ type: z.literal('operator'), name: z.string() }),
  z.strictObject({ type: z.literal('session'), id: z.string() }),
  z.strictObject({ type: z.literal('system'), job: z.string() }),
  z.strictObject({ type: z.literal('anonymous') }),
]);

export const manifestSchema = z.strictObject({
  format: z.literal(1),
  /** The tenant's creation time. */
  created_at: TIME,
  complete_since: TIME,
  versions: z.int().nonnegative(),
  directories: z.int().nonnegative(),
});
export type Manifest = z.infer<typeof manifestSchema>;

const version = z.strictObject({
  id: ID,
  memory_id: ID,
  operation: z.enum(['created', 'modified', 'renamed', 'deleted']),
  path: PATH.nullable(),
  content_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  content_size_bytes: z.int().nonnegative().nullable(),
  created_at: TIME,
  superseded_at: TIME.nullable(),
  actor: ACTOR,
  request_id: z.string().nullable(),
  tool_use_id: z.string().nullable(),
  via_tenant: z.string().nullable().default(null),
  /** The actor's source, repeated for readers. */
  source: z.string().nullable().default(null),
  draft: z.string().nullable().default(null),
  approved_by: ACTOR.nullable().default(null),
  redacted_at: TIME.nullable(),
  redacted_by: ACTOR.nullable(),
  splice_start: OFFSET.nullable(),
  splice_length: OFFSET.nullable(),
  content: z.string().nullable(),
});
export type ArchivedVersion = z.infer<typeof version>;

export const versionSchema = version
  .refine(
    ({ created_at, superseded_at }) => (superseded_at ?? created_at) >= created_at,
    'ends before it begins',
  )
  .refine(hasOwnContent, 'has another content than its operation');

export const directorySchema = z
  .strictObject({ path: PATH, created_at: TIME, removed_at: TIME.nullable() })
  .refine(({ created_at, removed_at }) => (removed_at ?? created_at) >= created_at, 'ends before it begins');

export type ArchivedDirectory = z.infer<typeof directorySchema>;

function hasOwnContent(each: ArchivedVersion): boolean {
  const { path, content, content_sha256, content_size_bytes, splice_start, splice_length, superseded_at } =
    each;
  const isSplice = splice_start !== null;
  if (isSplice !== (splice_length !== null) || (isSplice && content === null)) return false;
  const hasContent = content_sha256 !== null && content_size_bytes !== null;
  if (each.redacted_at !== null)
    return path === null && content === null && !hasContent && superseded_at !== null;
  if (path === null) return false;
  if (each.operation === 'deleted')
    return content === null && !hasContent && superseded_at === each.created_at;
  return hasContent && (content === null) === (superseded_at === null);
}

function isTime(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(text)) return false;
  const seconds = Date.parse(`${text.slice(0, 19)}Z`);
  return seconds > 0 && new Date(seconds).toISOString().startsWith(text.slice(0, 19));
}

/** A version's stored content, whole or as a splice: src/core/database/schema/file-tables.ts. */
export interface KeptContent {
  spliceStart: number | null;
  spliceLength: number | null;
  keptContent: string | null;
}

/**
 * Converts a version to an archive line: the fields of `log --json`, the version's end, and its stored content.
 */
export function archivedVersion(version: Version, kept: KeptContent): ArchivedVersion {
  return {
    ...versionRecord(version),
    superseded_at: version.supersededAt,
    splice_start: kept.spliceStart,
    splice_length: kept.spliceLength,
    content: kept.keptContent,
  };
}

export function storedVersion(archived: ArchivedVersion) {
  const { actor, request_id, tool_use_id, via_tenant, source, draft, approved_by, ...rest } = archived;
  const { redacted_by, ...columns } = rest;
  const { content_sha256: sha256, content_size_bytes: size_bytes, ...others } = columns;
  const origin = {
    actor,
    requestId: request_id ?? undefined,
    toolUseId: tool_use_id ?? undefined,
    viaTenant: via_tenant ?? undefined,
    draft: draft ?? undefined,
    approvedBy: approved_by ?? undefined,
  };
  return {
    ...others,
    sha256,
    size_bytes,
    origin: JSON.parse(storedOrigin(origin)),
    redacted_by: redacted_by === null ? null : JSON.parse(storedActor(redacted_by)),
  };
}
export type StoredVersion = ReturnType<typeof storedVersion>;

export function damagedHistory(what: string): ServiceError {
  return new ServiceError('history_damaged', what);
}
