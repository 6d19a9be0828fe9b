import { z } from 'zod';
import { actor, tenantId, time } from '../../core/admin/fields.ts';
import { entryRecord, versionSchema } from '../../core/admin/version-operations.ts';
import { encodeCursor } from '../../core/lib/cursor.ts';
import type { FileEvent } from './changes.ts';

export const EVENT_TYPES = ['created', 'modified', 'renamed', 'deleted', 'restored', 'redacted'] as const;

export const eventSchema = z
  .object({
    cursor: z.string().meta({ description: 'Reading goes on after the event with `after=CURSOR`.' }),
    type: z.enum(EVENT_TYPES).meta({
      description:
        '`restored`: a deleted file exists again. `redacted`: the version lost its path and content.',
    }),
    tenant: tenantId,
    at: time,
    actor: actor.meta({ description: 'The actor that made the change or the redaction.' }),
    version: versionSchema.meta({
      description: 'The version that the change created, or the redacted version. Its path is the new path.',
    }),
    content: z.string().nullable().optional().meta({
      description:
        'With `content=true`: the content after the change. Null for a deletion, and if the content was redacted or pruned.',
    }),
  })
  .meta({ id: 'ChangeEvent', description: 'A change to a file, or a redaction.' });

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
  tenant: string;
  event: FileEvent;
  cursor: Position;
}

/** @param content undefined if the contents were not requested */
export function eventRecord(
  { tenant, event: { type, entry }, cursor }: PlacedEvent,
  content: string | null | undefined,
): ChangeEvent {
  const version = entryRecord(entry);
  const { at, actor } =
    type === 'redacted'
      ? { at: version.redacted_at, actor: version.redacted_by }
      : { at: version.created_at, actor: version.actor };
  return {
    cursor: encodeCursor(cursor),
    type,
    tenant,
    at: at ?? version.created_at,
    actor: actor ?? { type: 'anonymous' },
    version,
    ...(content !== undefined && { content }),
  };
}
