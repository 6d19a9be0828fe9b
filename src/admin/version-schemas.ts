import { z } from 'zod';
import { ServiceError } from '../errors.ts';
import { actor, tenantParams, time, versionId } from './fields.ts';

export const id = z.guid();

const versionFields = {
  id,
  memory_id: id.meta({ description: 'Identifies the file across edits and renames.' }),
  operation: z.enum(['created', 'modified', 'renamed', 'deleted']),
  path: z
    .string()
    .nullable()
    .meta({ description: 'After the change; for a deletion, the last path. Null once redacted.' }),
  content_sha256: z.string().nullable(),
  content_size_bytes: z.int().nullable(),
  created_at: time,
  actor,
  request_id: z.string().nullable(),
  tool_use_id: z.string().nullable(),
  via_tenant: z.string().nullable().meta({
    description: 'The tenant that mounts this memory, if the change came through its mount.',
  }),
  source: z.string().nullable().meta({
    description: 'The source of the key that made the change, as its operator said; it survives a merge.',
  }),
  draft: z.string().nullable().meta({ description: 'The draft that it was merged from.' }),
  approved_by: actor
    .nullable()
    .meta({ description: 'Who merged it from a draft that `actor` had proposed.' }),
  redacted_at: time.nullable(),
  redacted_by: actor.nullable(),
  previous_version: id
    .nullable()
    .meta({ description: 'The version that it replaced; null if there was none or it has been pruned.' }),
  previous_path: z.string().nullable(),
};
export const versionSchema = z.object(versionFields).meta({
  id: 'Version',
  description: 'A change to a file. A version never changes, unless it is redacted.',
});
export const versionWithContentSchema = z
  .object({ ...versionFields, content: z.string().nullable() })
  .meta({ id: 'VersionWithContent' });

export const versionParams = tenantParams.extend({ version: versionId });

export const noSuchVersion = new ServiceError(
  'no_such_version',
  'acme',
  '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52',
);
