import { z } from 'zod';
import { ServiceError } from '../errors.ts';
import { text } from './fields.ts';

export const changedSchema = z
  .object({
    path: z.string(),
    action: z.enum(['created', 'replaced', 'unchanged', 'deleted']),
    message: z.string().meta({ description: 'As an agent would read it.' }),
  })
  .meta({ id: 'Changed' });

export const nothingThere = new ServiceError(
  'not_found',
  'There is nothing at /memories/notes.md. See: memory-service ls acme',
);
export const isDirectory = new ServiceError(
  'refused',
  '/memories/projects is a directory. List it with: memory-service ls acme /memories/projects',
);
export const incomplete = new ServiceError(
  'history_incomplete',
  'The history of acme is complete since 2026-11-20T08:00:00.000000Z only. Ask for a later time.',
);
export const changedSince = new ServiceError(
  'precondition_failed',
  '/memories/notes.md has changed since it was read. Read it again.',
);

export const ifMatch = text(1000).optional().meta({
  description: 'The `ETag` of the file as it was read, or `*` for whatever is there.',
});
export const ifNoneMatch = text(1000).optional();
export const etagHeader = {
  ETag: { schema: { type: 'string' }, description: 'The SHA-256 of the content.' },
};
