import { z } from 'zod';
import type { StoredMemory } from '../../core/files/write-functions.ts';
import type { Version } from '../../core/history/version.ts';
import type { Actor } from '../../core/memory/origin.ts';
import { toPublicId, toPublicPath } from '../../core/tenants/store-ids.ts';
import type { StoreRow } from '../../core/tenants/stores.ts';

const time = z.string().meta({ description: 'RFC 3339, UTC.', examples: ['2026-11-22T09:30:00.123456Z'] });

export const storeSchema = z
  .object({
    id: z.string(),
    type: z.literal('memory_store'),
    name: z.string().meta({ description: 'For a tenant that this API did not create, its id.' }),
    description: z.string(),
    metadata: z.record(z.string(), z.string()),
    created_at: time,
    updated_at: time.meta({ description: 'The last change to the store itself, not to its memories.' }),
    archived_at: time.nullable(),
  })
  .meta({ id: 'MemoryStore' });

export function storeRecord(row: StoreRow): z.output<typeof storeSchema> {
  return {
    id: row.id,
    type: 'memory_store',
    name: row.name,
    description: row.description,
    metadata: row.metadata,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
    archived_at: row.archivedAt,
  };
}

export const memorySchema = z
  .object({
    id: z.string().meta({ description: 'Stays the same when the path changes.' }),
    type: z.literal('memory'),
    memory_store_id: z.string(),
    memory_version_id: z.string().meta({ description: 'The current version.' }),
    path: z.string().meta({ description: "`/notes.md` is the memory tool's file `/memories/notes.md`." }),
    content: z.string().nullable().meta({ description: 'Null with `view=basic`.' }),
    content_sha256: z.string(),
    content_size_bytes: z.int(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Memory' });

export function memoryRecord(store: string, memory: StoredMemory): z.output<typeof memorySchema> {
  return {
    id: toPublicId('mem', memory.memoryId),
    type: 'memory',
    memory_store_id: store,
    memory_version_id: toPublicId('memver', memory.versionId),
    path: toPublicPath(memory.path),
    content: memory.content,
    content_sha256: memory.sha256,
    content_size_bytes: memory.sizeBytes,
    created_at: memory.createdAt,
    updated_at: memory.updatedAt,
  };
}

export const prefixSchema = z
  .object({
    type: z.literal('memory_prefix'),
    path: z.string().meta({ description: 'A directory with memories, as a `path_prefix`.' }),
  })
  .meta({ id: 'MemoryPrefix' });

const actorSchema = z
  .union([
    z.object({ type: z.literal('api_actor'), api_key_id: z.string() }),
    z.object({ type: z.literal('service_account_actor'), service_account_id: z.string() }),
    z.object({ type: z.literal('user_actor'), user_id: z.string() }),
    z.object({ type: z.literal('session_actor'), session_id: z.string() }),
  ])
  .meta({
    id: 'MemoryActor',
    description:
      "A key; a JSON Web Token's subject; a person, or an operator's name; or, for an imported " +
      'version, a session in the hosted API.',
  });

/** Returns the actor who made a change, or null if this API has no type for the actor. */
function actorRecord(actor: Actor | null): z.output<typeof actorSchema> | null {
  switch (actor?.type) {
    case 'api_key':
    case 'admin_key':
      return { type: 'api_actor', api_key_id: actor.id };
    case 'jwt':
      return actor.subject === null
        ? null
        : { type: 'service_account_actor', service_account_id: actor.subject };
    case 'user':
      return { type: 'user_actor', user_id: actor.id };
    case 'operator':
      return { type: 'user_actor', user_id: actor.name };
    case 'session':
      return { type: 'session_actor', session_id: actor.id };
    default:
      return null;
  }
}

export const versionSchema = z
  .object({
    id: z.string(),
    type: z.literal('memory_version'),
    memory_store_id: z.string(),
    memory_id: z.string(),
    operation: z.enum(['created', 'modified', 'deleted']).meta({
      description: '`modified`: the content, the path, or both changed.',
    }),
    path: z.string().nullable(),
    content: z.string().nullable().meta({ description: 'Null with `view=basic`, and for a deletion.' }),
    content_sha256: z.string().nullable(),
    content_size_bytes: z.int().nullable(),
    created_at: time,
    created_by: actorSchema.nullable(),
    redacted_at: time.nullable().meta({ description: 'Once set, path and content are gone.' }),
    redacted_by: actorSchema.nullable(),
  })
  .meta({ id: 'MemoryVersion' });

export function versionRecord(
  store: string,
  version: Version,
  content: string | null,
): z.output<typeof versionSchema> {
  return {
    id: toPublicId('memver', version.id),
    type: 'memory_version',
    memory_store_id: store,
    memory_id: toPublicId('mem', version.memoryId),
    operation: version.operation === 'renamed' ? 'modified' : version.operation,
    path: version.path === null ? null : toPublicPath(version.path),
    content,
    content_sha256: version.contentSha256,
    content_size_bytes: version.contentSizeBytes,
    created_at: version.createdAt,
    created_by: actorRecord(version.actor),
    redacted_at: version.redactedAt,
    redacted_by: actorRecord(version.redactedBy),
  };
}

export const done = (schema: z.ZodType) => ({ description: 'Done.', schema });

export const deletedSchema = <Type extends 'memory_store_deleted' | 'memory_deleted'>(type: Type) =>
  z.object({ id: z.string(), type: z.literal(type) });

export const pageSchema = <Item extends z.ZodType>(item: Item) =>
  z.object({
    data: z.array(item),
    next_page: z.string().nullable().meta({ description: 'Pass it as `page`; null on the last page.' }),
  });
