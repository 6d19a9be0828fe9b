import { z } from 'zod';

/* The responses of a service with the Memory Stores API, as far as they are read here. Fields that are not named are ignored. */

export const storeSchema = z.object({
  id: z.string(),
  name: z.string(),
  metadata: z.record(z.string(), z.string()),
  created_at: z.string(),
});
export type HostedStoreRecord = z.output<typeof storeSchema>;

export const memorySchema = z.object({
  type: z.literal('memory'),
  id: z.string(),
  memory_version_id: z.string(),
  path: z.string(),
  content: z.string().nullish(),
  content_sha256: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type HostedMemory = z.output<typeof memorySchema>;

export const listedMemorySchema = z.discriminatedUnion('type', [
  memorySchema,
  z.object({ type: z.literal('memory_prefix') }),
]);

/** An actor of a type that is not known yet is read as nobody. */
const actorSchema = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('api_actor'), api_key_id: z.string() }),
    z.object({ type: z.literal('service_account_actor'), service_account_id: z.string() }),
    z.object({ type: z.literal('user_actor'), user_id: z.string() }),
    z.object({ type: z.literal('session_actor'), session_id: z.string() }),
  ])
  .nullish()
  .catch(null);
export type HostedActor = z.output<typeof actorSchema>;

export const versionSchema = z.object({
  id: z.string(),
  memory_id: z.string(),
  operation: z.enum(['created', 'modified', 'deleted']),
  path: z.string().nullish(),
  content: z.string().nullish(),
  content_sha256: z.string().nullish(),
  created_at: z.string(),
  created_by: actorSchema,
  redacted_at: z.string().nullish(),
  redacted_by: actorSchema,
});
export type HostedVersion = z.output<typeof versionSchema>;

export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ data: z.array(item), next_page: z.string().nullish() });

export const errorSchema = z.object({
  error: z.object({ message: z.string(), conflicting_memory_id: z.string().optional() }),
});
