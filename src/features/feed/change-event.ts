import { z } from 'zod';
import { access, actor, tenantId, time } from '../../core/admin/fields.ts';
import { entryRecord, versionSchema } from '../../core/admin/version-operations.ts';
import { encodeCursor } from '../../core/lib/cursor.ts';
import { MOUNT_ACCESS } from '../../core/memory/mount.ts';
import { ANONYMOUS } from '../../core/memory/origin.ts';
import { DRAFT_EVENTS, KEY_EVENTS, SHARE_EVENTS, TENANT_EVENTS } from '../../core/tenants/events.ts';
import { type FeedEvent, isFileEvent } from './changes.ts';

const FILE_EVENTS = ['created', 'modified', 'renamed', 'deleted', 'restored', 'redacted'] as const;

export const EVENT_TYPES = [
  ...FILE_EVENTS,
  ...TENANT_EVENTS,
  'tenant_renamed',
  'limit_near',
  ...DRAFT_EVENTS,
  ...SHARE_EVENTS,
  ...KEY_EVENTS,
  'job_ended',
] as const;

const common = {
  cursor: z.string().meta({ description: 'Reading goes on after the event with `after=CURSOR`.' }),
  tenant: tenantId,
  at: time,
  actor: actor.meta({ description: 'The actor that made the change.' }),
};

const fileEvent = z
  .object({
    ...common,
    type: z.enum(FILE_EVENTS).meta({
      description:
        '`restored`: a deleted file exists again. `redacted`: the version lost its path and content.',
    }),
    version: versionSchema.meta({
      description: 'The version that the change created, or the redacted version. Its path is the new path.',
    }),
    content: z.string().nullable().optional().meta({
      description:
        'With `content=true`: the content after the change. Null for a deletion, and if the content was redacted or pruned.',
    }),
  })
  .meta({ id: 'FileEvent', description: 'A change to a file, or a redaction.' });

const tenantEvent = z
  .object({ ...common, type: z.enum(TENANT_EVENTS) })
  .meta({ id: 'TenantEvent', description: 'A change to the tenant itself.' });

const renameEvent = z
  .object({
    ...common,
    type: z.literal('tenant_renamed'),
    previous_tenant: tenantId.meta({ description: "The tenant's ID before the rename." }),
  })
  .meta({ id: 'TenantRenamedEvent', description: 'The tenant has a new ID.' });

const limitEvent = z
  .object({
    ...common,
    type: z.literal('limit_near'),
    limit: z.enum(['files', 'bytes']),
    used_percent: z.int().min(0).meta({
      description:
        'Usage after the change, rounded down. Exceeds 100 if the limit was lowered below the usage.',
    }),
  })
  .meta({ id: 'LimitEvent', description: 'The usage has reached 90 percent of a limit.' });

const draftEvent = z
  .object({
    ...common,
    type: z.enum(DRAFT_EVENTS),
    draft: z.object({
      id: z.string(),
      state: z.enum(['open', 'merged', 'replaced', 'rejected', 'expired']),
    }),
  })
  .meta({ id: 'DraftEvent', description: 'A draft of the memory was opened or closed.' });

const shareEvent = z
  .object({
    ...common,
    type: z.enum(SHARE_EVENTS),
    share: z.object({ id: z.string(), access: z.enum(MOUNT_ACCESS) }),
  })
  .meta({ id: 'ShareEvent', description: 'The tenant accepted an invitation, or such a share ended.' });

const keyEvent = z
  .object({
    ...common,
    tenant: tenantId.nullable().meta({ description: 'Null for service keys and admin keys.' }),
    type: z.enum(KEY_EVENTS),
    key: z.object({
      id: z.string(),
      kind: z.enum(['tenant', 'service', 'admin']),
      access,
    }),
  })
  .meta({ id: 'KeyEvent', description: "Only in the list of all tenants' changes." });

const jobEvent = z
  .object({
    ...common,
    tenant: tenantId.nullable().meta({ description: 'Always null.' }),
    type: z.literal('job_ended'),
    job: z.object({
      id: z.string(),
      kind: z.string().meta({ description: '`find`, `revert`, or `erase`. A later version may add kinds.' }),
      state: z.enum(['done', 'cancelled']),
      tenants_failed: z.int().min(0),
    }),
  })
  .meta({ id: 'JobEvent', description: "A job over tenants. Only in the list of all tenants' changes." });

export const eventSchema = z
  .discriminatedUnion('type', [
    fileEvent,
    tenantEvent,
    renameEvent,
    limitEvent,
    draftEvent,
    shareEvent,
    keyEvent,
    jobEvent,
  ])
  .meta({
    id: 'ChangeEvent',
    description: 'A change to a file, or an event of a tenant, a limit, a draft, a share, a key, or a job.',
  });

export type ChangeEvent = z.infer<typeof eventSchema>;

export const pageSchema = z
  .object({
    events: z.array(eventSchema),
    cursor: z.string().meta({
      description: 'The position after the page. Send it as `after` to read on, even after an empty page.',
    }),
    has_more: z.boolean().meta({ description: 'Whether more events are there already.' }),
  })
  .meta({ id: 'ChangePage' });

export const eventStreamSchema = z.string().meta({
  description:
    "Server-sent events: `id` is the event's cursor, `data` its JSON. The last event before the service ends the stream is a `problem`, whose data is the problem's JSON.",
});

/** An event with its tenant, and with the position after it in the list that a caller reads. */
export interface PlacedEvent<Position extends object = object> {
  /** Empty for a job, and for a key without a tenant. */
  tenant: string;
  event: FeedEvent;
  cursor: Position;
}

/** @param content undefined if the contents were not requested */
export function eventRecord(
  { tenant, event, cursor }: PlacedEvent,
  content: string | null | undefined,
): ChangeEvent {
  if (!isFileEvent(event)) {
    const { type, by, details } = event;
    return {
      cursor: encodeCursor(cursor),
      type,
      tenant: tenant === '' ? null : tenant,
      at: event.cursor.time,
      actor: by,
      ...details,
    } as ChangeEvent;
  }
  const version = entryRecord(event.entry);
  const { at, actor } =
    event.type === 'redacted'
      ? { at: version.redacted_at, actor: version.redacted_by }
      : { at: version.created_at, actor: version.actor };
  return {
    cursor: encodeCursor(cursor),
    type: event.type,
    tenant,
    at: at ?? version.created_at,
    actor: actor ?? ANONYMOUS,
    version,
    ...(content !== undefined && { content }),
  };
}
