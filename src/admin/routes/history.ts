import { z } from 'zod';
import { ServiceError } from '../../errors.ts';
import { betweenVersions, changesBetween } from '../../history/diff.ts';
import { type Difference, differences } from '../../history/differences.ts';
import { History } from '../../history/history.ts';
import { type LogEntry, logPage, withChanges } from '../../history/log.ts';
import { redactVersion } from '../../history/redact.ts';
import { versionRecord } from '../../history/version.ts';
import { existingTenant, Tenants } from '../../tenants/tenants.ts';
import { originOf } from '../authentication.ts';
import { adminRoutes } from '../context.ts';
import { readCursor, writeCursor } from '../cursor.ts';
import {
  actor,
  givenTime,
  memoryPath,
  next,
  pageFields,
  pathOrRoot,
  tenantParams,
  text,
  time,
  versionId,
} from '../fields.ts';
import { incomplete } from '../file-schemas.ts';
import { readTimes } from '../instants.ts';
import { errorResponses, json, noSuchTenant } from '../responses.ts';

const id = z.guid();

const versionFields = {
  id,
  memory_id: id.meta({ description: 'Of the file: the same across edits and renames.' }),
  operation: z.enum(['created', 'modified', 'deleted']),
  path: z
    .string()
    .nullable()
    .meta({ description: 'After the change; of a deletion, the last. Null once redacted.' }),
  content_sha256: z.string().nullable(),
  content_size_bytes: z.int().nullable(),
  created_at: time,
  actor,
  request_id: z.string().nullable(),
  tool_use_id: z.string().nullable(),
  redacted_at: time.nullable(),
  redacted_by: actor.nullable(),
  previous_version: id
    .nullable()
    .meta({ description: 'What it replaced; null when there was nothing, or it is not kept any more.' }),
  previous_path: z.string().nullable(),
};
const versionSchema = z
  .object(versionFields)
  .meta({ id: 'Version', description: 'A change of a file, which is never changed but for redaction.' });
const versionWithContentSchema = z
  .object({ ...versionFields, content: z.string().nullable() })
  .meta({ id: 'VersionWithContent' });

const differenceSchema = z
  .object({
    old_path: z.string().nullable(),
    path: z.string().nullable(),
    old_version: id.nullable(),
    version: id.nullable(),
    patch: z.string().nullable().meta({ description: 'As `git diff` writes it.' }),
    no_patch_reason: z
      .string()
      .nullable()
      .meta({ description: 'Why there is no patch: a version was redacted, or is not kept any more.' }),
  })
  .meta({ id: 'Difference' });

const counted = z.int().min(0);
const redactedSchema = z.object({
  versions: counted.meta({ description: 'The version, and those with the same content.' }),
  same_path: counted.meta({ description: 'Versions that still have the path.' }),
  answers: counted.meta({ description: 'Stored answers of idempotent requests.' }),
});

const versionParams = tenantParams.extend({ version: versionId });
const versionPosition = z.strictObject({ createdAt: z.iso.datetime({ precision: 6 }), id });
const diffPosition = z.strictObject({ to: z.iso.datetime({ precision: 6 }), skip: z.int().min(0) });

/** A page of differences ends once its patches have so many characters. */
const PATCH_CHARACTERS = 4 * 1024 * 1024;

const noSuchVersion = new ServiceError(
  'not_found',
  'There is no version 0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52 of acme. See: memory-service log acme',
);

/** The versions of a tenant's files. */
export const historyRoutes = adminRoutes((app, { database }) => {
  const tenants = new Tenants(database);
  const history = new History(database);

  app.get(
    '/tenants/:tenant/versions',
    {
      schema: {
        operationId: 'listVersions',
        summary: 'List the versions of files, the newest first, a page at a time',
        tags: ['history'],
        params: tenantParams,
        querystring: z.strictObject({
          path: memoryPath.optional().meta({
            description: 'Of a file: its versions wherever it was. Of a directory: those of all below it.',
          }),
          since: givenTime.optional(),
          until: givenTime.optional(),
          by: text(255).optional().meta({
            description:
              "A key's id or label, a token's subject, an operator's or a job's name, `operator`, or `anonymous`.",
          }),
          operation: z.enum(['created', 'modified', 'deleted']).optional(),
          ...pageFields(200, 50),
        }),
        response: {
          200: json('A page.', z.object({ versions: z.array(versionSchema), next })),
          ...errorResponses('reads', [noSuchTenant]),
        },
      },
    },
    async ({ params: { tenant }, query: { path, by, operation, limit, ...query } }) => {
      await existingTenant(tenants, tenant);
      const before = readCursor(versionPosition, query.after);
      const { since, until } = await readTimes(database, { since: query.since, until: query.until });
      const filter = {
        ...(path !== undefined && { path }),
        ...(since !== undefined && { since }),
        ...(until !== undefined && { until }),
        ...(by !== undefined && { by }),
        ...(operation !== undefined && { operation }),
      };
      const entries = await logPage(history, tenant, filter, before, limit + 1);
      const shown = entries.slice(0, limit);
      const last = shown.at(-1)?.version;
      const more = entries.length > limit && last !== undefined;
      return {
        versions: shown.map(entryRecord),
        next: more ? writeCursor({ createdAt: last.createdAt, id: last.id }) : null,
      };
    },
  );

  app.get(
    '/tenants/:tenant/versions/:version',
    {
      schema: {
        operationId: 'getVersion',
        summary: 'Get a version with its content',
        tags: ['history'],
        params: versionParams,
        response: {
          200: json('The version.', versionWithContentSchema),
          ...errorResponses('reads', [noSuchTenant, noSuchVersion]),
        },
      },
    },
    async ({ params: { tenant, version: given } }) => {
      await existingTenant(tenants, tenant);
      const { version, content } = await history.existing(tenant, given);
      const [entry] = await withChanges(history, tenant, [version]);
      if (entry === undefined) throw new Error('A version has no change.');
      return { ...entryRecord(entry), content };
    },
  );

  app.get(
    '/tenants/:tenant/versions/:version/diff',
    {
      schema: {
        operationId: 'diffVersion',
        summary: 'What a version changed, or how it differs from another one',
        tags: ['history'],
        params: versionParams,
        querystring: z.strictObject({
          against: versionId.optional().meta({
            description: 'The version to compare with, of any file; it is the old side.',
          }),
        }),
        response: {
          200: json('One difference, or none.', z.object({ changes: z.array(differenceSchema) })),
          ...errorResponses('reads', [noSuchTenant, noSuchVersion]),
        },
      },
    },
    async ({ params: { tenant, version }, query: { against } }) => {
      await existingTenant(tenants, tenant);
      const [first, second] = against === undefined ? [version, undefined] : [against, version];
      const changes = betweenVersions(history, tenant, first, second);
      const found = await pageOf(differences(history, tenant, changes), 1);
      return { changes: found.changes.map(differenceRecord) };
    },
  );

  app.get(
    '/tenants/:tenant/diff',
    {
      schema: {
        operationId: 'diffTimes',
        summary: 'How the files at a path and below it differ between two times, a page at a time',
        description: 'A page also ends once its patches have 4 MiB.',
        tags: ['history'],
        params: tenantParams,
        querystring: z.strictObject({
          path: pathOrRoot,
          at: givenTime,
          to: givenTime.optional().meta({ description: 'By default now.' }),
          ...pageFields(100, 50),
        }),
        response: {
          200: json(
            'A page.',
            z.object({ path: z.string(), at: time, to: time, changes: z.array(differenceSchema), next }),
          ),
          ...errorResponses('reads', [noSuchTenant, incomplete]),
        },
      },
    },
    async ({ params: { tenant }, query: { path, limit, ...query } }) => {
      await existingTenant(tenants, tenant);
      const position = readCursor(diffPosition, query.after);
      const times = await readTimes(database, { at: query.at, to: query.to });
      const { at = times.now } = times;
      // The next pages are of the same times.
      const to = position?.to ?? times.to ?? times.now;
      const skip = position?.skip ?? 0;
      const all = changesBetween(history, tenant, path, { from: at, to });
      const { changes, isLast } = await pageOf(differences(history, tenant, skipped(all, skip)), limit);
      const more = isLast ? null : { to, skip: skip + changes.length };
      return { path, at, to, changes: changes.map(differenceRecord), next: writeCursor(more) };
    },
  );

  app.post(
    '/tenants/:tenant/versions/:version/redact',
    {
      schema: {
        operationId: 'redactVersion',
        summary: 'Remove path and content of a superseded version for good',
        description:
          'Versions with the same content are redacted with it, and all stored answers of the tenant. Backups keep the text until they are deleted.',
        tags: ['history'],
        params: versionParams,
        response: {
          200: json('What was redacted.', redactedSchema),
          ...errorResponses('changes', [
            ...[noSuchTenant, noSuchVersion],
            new ServiceError(
              'refused',
              'The version 0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52 is the live file. Edit or delete the file first, then redact this version.',
            ),
          ]),
        },
      },
    },
    async (request) => {
      const { tenant, version } = request.params;
      await existingTenant(tenants, tenant);
      const redacted = await redactVersion(database, tenant, version, originOf(request));
      return { versions: redacted.versions, same_path: redacted.samePath, answers: redacted.answers };
    },
  );
});

function entryRecord({ version, replaced, before }: LogEntry) {
  return {
    ...versionRecord(version),
    previous_version: replaced,
    previous_path: before.kind === 'file' ? before.path : null,
  };
}

function differenceRecord({ oldPath, path, oldVersion, version, patch, noPatchReason }: Difference) {
  return { old_path: oldPath, path, old_version: oldVersion, version, patch, no_patch_reason: noPatchReason };
}

async function* skipped<T>(all: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let index = 0;
  for await (const each of all) if (index++ >= count) yield each;
}

/** Takes as many as a page may have. */
async function pageOf(all: AsyncIterable<Difference>, limit: number) {
  const changes: Difference[] = [];
  let characters = 0;
  for await (const each of all) {
    if (changes.length >= limit || characters >= PATCH_CHARACTERS) return { changes, isLast: false };
    changes.push(each);
    characters += each.patch?.length ?? 0;
  }
  return { changes, isLast: true };
}
