import { z } from 'zod';
import { soughtPart } from '../database/contains-text.ts';
import { ServiceError } from '../errors/errors.ts';
import { History } from '../history/history.ts';
import { addChanges, type LogEntry, type LogOptions, logPage } from '../history/log.ts';
import { byActorOrSource, versionRecord } from '../history/version.ts';
import { cutPage } from '../lib/pages.ts';
import type { MemoryPath } from '../memory/path.ts';
import { noSuchTenant } from './admin-errors.ts';
import { defineOperation } from './admin-operation.ts';
import {
  actor,
  actorFields,
  givenTime,
  memoryPath,
  NOT_BY_BOTH,
  next,
  pageFields,
  readCursor,
  readTimes,
  tenantParams,
  text,
  time,
  versionId,
  writeCursor,
} from './fields.ts';

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
  source: z
    .string()
    .nullable()
    .meta({
      description:
        'The source that the operator declared for the key that made the change; a merge keeps the ' +
        'source.',
    }),
  draft: z.string().nullable().meta({ description: 'The draft that it was merged from.' }),
  approved_by: actor
    .nullable()
    .meta({ description: 'The actor that merged the version from a draft by `actor`.' }),
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

const versionPosition = z.strictObject({ id });

/** Parameters that filter versions. */
export const versionFilter = {
  path_contains: text(1000).optional().meta({
    description:
      'A part of the path (case-insensitive). A version that moved a file is found by the old path, too.',
  }),
  since: givenTime.optional(),
  until: givenTime.optional(),
  ...actorFields,
  by_contains: text(255).optional().meta({
    description: "A part of the actor's type, label, subject, name, job, or ID (case-insensitive).",
  }),
  operation: z.enum(['created', 'modified', 'renamed', 'deleted']).optional(),
};

/** Returns the history filter for parameters whose times are read. */
export function logFilter({
  path,
  path_contains: pathContains,
  since,
  until,
  by,
  source,
  by_contains: byContains,
  operation,
}: { [Name in keyof typeof versionFilter]?: z.output<(typeof versionFilter)[Name]> } & {
  path?: MemoryPath | undefined;
}): LogOptions {
  const actor = byActorOrSource({ by, source });
  const filter = {
    path,
    pathContains: soughtPart(pathContains),
    since,
    until,
    by: actor,
    byContains: soughtPart(byContains),
    operation,
  };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

export const listVersions = defineOperation({
  id: 'listVersions',
  method: 'GET',
  url: '/tenants/:tenant/versions',
  summary: 'List file versions, newest first, a page at a time',
  tag: 'history',
  params: tenantParams,
  query: z
    .strictObject({
      path: memoryPath.optional().meta({
        description:
          'For a file, its versions at any path. For a directory, the versions of everything below it.',
      }),
      ...versionFilter,
      ...pageFields(200, 50),
    })
    .refine(...NOT_BY_BOTH),
  response: { description: 'A page.', schema: z.object({ versions: z.array(versionSchema), next }) },
  errors: [noSuchTenant],
  isHeavy: true,
  async run({ database, params: { tenant }, query: { limit, after, ...query } }) {
    const before = readCursor(versionPosition, after);
    const times = await readTimes(database, { since: query.since, until: query.until });
    const filter = logFilter({ ...query, ...times });
    const history = new History(database);
    const entries = await logPage(history, tenant, filter, before?.id ?? null, limit + 1);
    const page = cutPage(entries, limit, ({ version }) => ({ id: version.id }));
    return { versions: page.rows.map(entryRecord), next: writeCursor(page.next) };
  },
});

export const getVersion = defineOperation({
  id: 'getVersion',
  method: 'GET',
  url: '/tenants/:tenant/versions/:version',
  summary: 'Get a version with its content',
  tag: 'history',
  params: versionParams,
  response: { description: 'The version.', schema: versionWithContentSchema },
  errors: [noSuchTenant, noSuchVersion],
  async run({ database, params: { tenant, version: given } }) {
    const history = new History(database);
    const { version, content } = await history.requireWithContent(tenant, given);
    const [entry] = await addChanges(history, tenant, [version]);
    if (entry === undefined) throw new Error(`Version ${version.id} has no log entry.`);
    return { ...entryRecord(entry), content };
  },
});

export type VersionEntry = ReturnType<typeof entryRecord>;

export function entryRecord({ version, replaced, before }: LogEntry) {
  return {
    ...versionRecord(version),
    previous_version: replaced,
    previous_path: before.kind === 'file' ? before.path : null,
  };
}
