import { z } from 'zod';
import { ServiceError } from '../errors/errors.ts';
import { History } from '../history/history.ts';
import {
  countErasableDirectories,
  eraseDirectories,
  eraseVersion,
  previewErasure,
} from '../history/redact.ts';
import type { Version } from '../history/version.ts';
import { addReceipt } from '../tenants/receipts.ts';
import { noSuchTenant } from './admin-errors.ts';
import { defineOperation } from './admin-operation.ts';
import { memoryPath, next, pageFields, readCursor, tenantParams, time, writeCursor } from './fields.ts';
import { receiptFlag, signedReceipt } from './receipt-schema.ts';
import { id, noSuchVersion, versionParams } from './version-operations.ts';

const counted = z.int().min(0);
const redactedSchema = z.object({
  versions: counted.meta({ description: 'The version itself and those with the same content.' }),
  same_path: counted.meta({ description: 'Versions that still contain a redacted path.' }),
  stored_results: counted.meta({ description: 'Stored results for idempotent requests.' }),
  drafts: z.array(z.string()).meta({
    description:
      'Open drafts that still have the file, changed or unchanged. Close them, or delete and redact it there.',
  }),
  receipt: signedReceipt.optional().meta({ description: 'With `receipt`.' }),
});

const redactedDirectoriesSchema = z.object({
  directories: counted.meta({ description: 'A directory that existed twice counts twice.' }),
  stored_results: counted.meta({ description: 'Stored results for idempotent requests.' }),
  receipt: signedReceipt.optional().meta({ description: 'With `receipt`.' }),
});

const versionFields = { id, memory_id: id, path: z.string().nullable(), created_at: time };
const redactionPage = z.object({
  redacted: z
    .array(z.object(versionFields))
    .meta({ description: 'The same on each page: the version itself and those with the same content.' }),
  remaining: z.array(
    z.object({
      ...versionFields,
      is_live: z.boolean(),
      is_same_file: z.boolean(),
      has_path: z.boolean().meta({ description: 'Whether the version has a path that is redacted.' }),
      shared_lines: counted.meta({ description: 'The number of lines that the contents have in common.' }),
    }),
  ),
  lines: counted.meta({ description: 'The number of different lines in the content.' }),
  next,
});

const LIVE = '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52';
const versionIsLive = new ServiceError('version_is_live', LIVE, LIVE);
const directoryErrors = [
  noSuchTenant,
  new ServiceError('no_such_directory', 'acme', '/memories/old'),
  new ServiceError('directory_exists', '/memories/old'),
];

const cursor = z.strictObject({ id });

export const checkRedaction = defineOperation({
  id: 'checkRedaction',
  method: 'GET',
  url: '/tenants/:tenant/versions/:version/redaction',
  summary:
    'List the versions that a redaction would remove, and those that may still contain the text or the path',
  description:
    'A page examines `limit` versions in the tenant, so it may list fewer, or none, while `next` ' +
    'is not null.',
  tag: 'history',
  params: versionParams,
  query: z.strictObject(pageFields(1000, 200)),
  response: { description: 'A page.', schema: redactionPage },
  errors: [noSuchTenant, noSuchVersion, versionIsLive],
  isHeavy: true,
  async run({ database, params: { tenant, version }, query: { limit, after } }) {
    const page = { before: readCursor(cursor, after)?.id ?? null, limit };
    const found = await previewErasure(new History(database), tenant, version, page);
    return {
      redacted: found.redacted.map(versionRecord),
      remaining: found.remaining.map(({ version: other, isLive, isSameFile, hasPath, sharedLines }) => ({
        ...versionRecord(other),
        is_live: isLive,
        is_same_file: isSameFile,
        has_path: hasPath,
        shared_lines: sharedLines,
      })),
      lines: found.lines,
      next: found.next === null ? null : writeCursor({ id: found.next }),
    };
  },
});

function versionRecord({ id, memoryId, path, createdAt }: Version) {
  return { id, memory_id: memoryId, path, created_at: createdAt };
}

export const redactVersion = defineOperation({
  id: 'redactVersion',
  method: 'POST',
  url: '/tenants/:tenant/versions/:version/redact',
  summary: "Permanently remove a superseded version's path and content",
  description:
    "Versions with the same content and all the tenant's stored results are redacted as well. " +
    'Backups keep the text until you delete them.',
  tag: 'history',
  params: versionParams,
  query: z.strictObject({ receipt: receiptFlag }),
  response: { description: 'The redacted versions.', schema: redactedSchema },
  errors: [noSuchTenant, noSuchVersion, versionIsLive],
  async run({ config, database, params: { tenant, version }, query, origin, administrator, note }) {
    const redacted = await eraseVersion(database, tenant, version, origin);
    note({ details: { version, versions: redacted.versions } });
    const erasure = {
      kind: 'version_redacted',
      tenant,
      by: administrator.actor,
      searched: ['versions with the same content', 'past directories', 'stored results'],
      subject: { version },
      erased: { versions: redacted.versions, stored_results: redacted.storedResults },
    } as const;
    return {
      receipt: query.receipt ? await addReceipt(database, config, erasure) : undefined,
      versions: redacted.versions,
      same_path: redacted.samePath,
      stored_results: redacted.storedResults,
      drafts: redacted.drafts,
    };
  },
});

export const checkDirectoryRedaction = defineOperation({
  id: 'checkDirectoryRedaction',
  method: 'GET',
  url: '/tenants/:tenant/directories/redaction',
  summary: 'Count the deleted directories whose names a redaction would remove',
  tag: 'history',
  params: tenantParams,
  query: z.strictObject({ path: memoryPath }),
  response: {
    description: 'The count.',
    schema: redactedDirectoriesSchema.pick({ directories: true }),
  },
  errors: directoryErrors,
  async run({ database, params: { tenant }, query: { path } }) {
    return { directories: await countErasableDirectories(database, tenant, path) };
  },
});

export const redactDirectories = defineOperation({
  id: 'redactDirectories',
  method: 'POST',
  url: '/tenants/:tenant/directories/redact',
  summary: "Permanently remove deleted directories' names",
  description:
    'Removes the names of directories that were at or below the path. Rejected while a file version ' +
    "there is kept. Also redacts all the tenant's stored results.",
  tag: 'history',
  params: tenantParams,
  query: z.strictObject({ receipt: receiptFlag }),
  body: z.strictObject({ path: memoryPath }),
  response: { description: 'The redacted versions.', schema: redactedDirectoriesSchema },
  errors: directoryErrors,
  async run({ config, database, params: { tenant }, query, body: { path }, administrator, note }) {
    const { directories, storedResults } = await eraseDirectories(database, tenant, path);
    note({ details: { directories } });
    const erasure = {
      kind: 'directories_redacted',
      tenant,
      by: administrator.actor,
      searched: ['past directories', 'stored results'],
      subject: {},
      erased: { directories, stored_results: storedResults },
    } as const;
    const receipt = query.receipt ? await addReceipt(database, config, erasure) : undefined;
    return { directories, stored_results: storedResults, receipt };
  },
});
