import { z } from 'zod';
import { noSuchTenant } from '../../core/admin/admin-errors.ts';
import { defineOperation } from '../../core/admin/admin-operation.ts';
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
  timePosition,
  writeCursor,
} from '../../core/admin/fields.ts';
import type { Database } from '../../core/database/database.ts';
import { byActorOrSource } from '../../core/history/version.ts';
import { cutPage } from '../../core/lib/pages.ts';
import { actorSource } from '../../core/memory/origin.ts';
import { effectiveSettings } from '../../core/tenants/effective-settings.ts';
import { findFileIdsQuery, listReadsQuery, type ReadRow, sumReadsQuery } from './read-queries.ts';

/** Maximum number of records in a page. */
export const MAX_PAGE = 200;

const positive = z.int().min(1);

export const readSchema = z
  .object({
    id: z.guid(),
    memory_id: z.guid().meta({ description: "The file's ID, which does not change when the file moves." }),
    path: z.string().nullable().meta({
      description:
        'The path of the file now or, for a deleted file, its last path; null if the history no longer has the path.',
    }),
    actor,
    source: z.string().nullable().meta({ description: "The source declared for the actor's key." }),
    via_tenant: z.string().nullable().meta({ description: 'The tenant whose mount was used for the reads.' }),
    tool_use_id: z.string().nullable().meta({ description: "The last read's `tool_use` ID." }),
    count: positive.meta({ description: 'Number of reads. With `read_log=each`, 1.' }),
    first_at: time,
    last_at: time,
  })
  .meta({ id: 'Read', description: 'Reads of a file by an actor: on one UTC day, or a single read.' });

export const listReads = defineOperation({
  id: 'listReads',
  method: 'GET',
  url: '/tenants/:tenant/reads',
  summary: 'List the reads of files, newest first, a page at a time',
  description:
    "For example, the files that informed a response: `?tool_use_id=toolu_01…`. Reads are recorded within 10 seconds, while the tenant's `read_log_days` is not 0. With `read_log=daily`, only the last `tool_use` ID in a day is found.",
  tag: 'history',
  params: tenantParams,
  query: z
    .strictObject({
      tool_use_id: text(255).min(1).optional(),
      path: memoryPath.optional().meta({
        description: 'The file that is at the path or, if there is none, was there last.',
      }),
      ...actorFields,
      ...pageFields(MAX_PAGE, 50),
    })
    .refine(...NOT_BY_BOTH),
  response: { description: 'A page.', schema: z.object({ reads: z.array(readSchema), next }) },
  errors: [noSuchTenant],
  isHeavy: true,
  async run({ database, params: { tenant }, query: { limit, after, path, ...query } }) {
    const position = readCursor(timePosition, after);
    const memoryId = path === undefined ? null : await findFileId(database, tenant, path);
    if (memoryId === undefined) return { reads: [], next: null };
    const { rows } = await database.query(listReadsQuery, {
      tenant,
      memoryId,
      toolUseId: query.tool_use_id ?? null,
      by: byActorOrSource(query) ?? null,
      afterAt: position?.time ?? null,
      afterId: position?.id ?? null,
      limit: limit + 1,
    });
    const page = cutPage(rows, limit, ({ lastAt, id }) => ({ time: lastAt, id }));
    return { reads: page.rows.map(readRecord), next: writeCursor(page.next) };
  },
});

const summarySchema = z
  .object({
    days: z.int().min(0).meta({ description: 'Days for which reads are recorded; 0: none.' }),
    count: z.int().min(0).meta({ description: 'Number of reads since `since`.' }),
    actors: z.int().min(0).meta({ description: 'Number of actors since `since`.' }),
    last_at: time.nullable().meta({ description: 'The last recorded read; null for none.' }),
  })
  .meta({ id: 'ReadSummary' });

export const sumReads = defineOperation({
  id: 'sumReads',
  method: 'GET',
  url: '/tenants/:tenant/reads/summary',
  summary: 'Count the reads of a file',
  tag: 'history',
  params: tenantParams,
  query: z.strictObject({ path: memoryPath, since: givenTime.default('7d') }),
  response: { description: 'The counts.', schema: summarySchema },
  errors: [noSuchTenant],
  async run({ config, database, tenant, query: { path, ...query } }) {
    const days = effectiveSettings(tenant, config).readLogDays;
    const { since } = await readTimes(database, { since: query.since });
    const memoryId = await findFileId(database, tenant.id, path);
    const [sum] =
      memoryId === undefined
        ? []
        : (await database.query(sumReadsQuery, { tenant: tenant.id, memoryId, since })).rows;
    return {
      days,
      count: sum?.count ?? 0,
      actors: sum?.actors ?? 0,
      last_at: sum?.lastAt ?? null,
    };
  },
});

/** Returns undefined if no file is or was at the path. */
async function findFileId(database: Database, tenant: string, path: string): Promise<string | undefined> {
  return (await database.query(findFileIdsQuery, { tenant, paths: [path] })).rows[0]?.memoryId;
}

function readRecord(row: ReadRow) {
  return {
    id: row.id,
    memory_id: row.memoryId,
    path: row.path,
    actor: row.actor,
    source: actorSource(row.actor),
    via_tenant: row.viaTenant,
    tool_use_id: row.toolUseId,
    count: row.count,
    first_at: row.firstAt,
    last_at: row.lastAt,
  };
}
