import { z } from 'zod';
import {
  actorFields,
  count,
  flag,
  memoryPath,
  NOT_BY_BOTH,
  repeatable,
  text,
} from '../../core/admin/fields.ts';
import { byActorOrSource } from '../../core/history/version.ts';
import { EVENT_TYPES } from './change-event.ts';
import type { ReadOptions } from './read-events.ts';

export const MAX_PAGE = 1000;

/** Parameters for reading a tenant's changes. */
export const changeParameters = z
  .strictObject({
    after: text(1000).optional().meta({
      description:
        'The `cursor` of an event or a page. `now` begins after the latest change. Without it, reading begins with the history.',
    }),
    limit: count(1, MAX_PAGE).default(100).meta({ description: 'Maximum number of events.' }),
    path: memoryPath.optional().meta({
      description:
        'A file or a directory: only events at or below the path, including moves away from there. A redacted version has no path, and its event always matches.',
    }),
    type: repeatable(z.enum(EVENT_TYPES), EVENT_TYPES.length)
      .optional()
      .meta({ description: 'Only events with these types.' }),
    ...actorFields,
    content: flag.default(false).meta({ description: 'Whether the events have the contents.' }),
  })
  .refine(...NOT_BY_BOTH);

export const streamHeaders = z.object({
  'last-event-id': z.string().optional().meta({
    description: "For a stream: the last event's `id`, which takes precedence over `after`.",
  }),
});

export function readOptions({
  path,
  type: types,
  limit,
  content,
  ...actor
}: z.output<typeof changeParameters>): ReadOptions {
  return { path, types, by: byActorOrSource(actor), limit, content };
}
