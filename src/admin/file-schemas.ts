import { z } from 'zod';
import { ServiceError } from '../errors.ts';
import { text, time } from './fields.ts';

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
export const incomplete = new ServiceError('history_incomplete', 'acme', '2026-11-20T08:00:00Z');
export const changedSince = new ServiceError('changed_since_read', '/memories/notes.md');

export const ifMatch = text(1000).optional().meta({
  description: 'The `ETag` of the file as you read it, or `*` for any content.',
});
export const ifNoneMatch = text(1000).optional();
export const etagHeader = {
  ETag: { schema: { type: 'string' }, description: 'The SHA-256 of the content.' },
};
