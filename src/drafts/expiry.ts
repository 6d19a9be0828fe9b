import type { Config } from '../config.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';
import { runTenantJob } from '../postgres/tenant-job.ts';
import { time } from '../postgres/time-column.ts';
import { Tenants } from '../tenants/tenants.ts';
import { closeDraft } from './close.ts';
import { draftDaysOf, expiryAfter, lastUseOf } from './use.ts';

/* The hourly job on drafts: closes unused ones, and deletes what an interrupted creation or closing has left behind. */

/** Long enough for a copy in progress. */
const UNFINISHED_MS = 60 * 60 * 1000;

interface DraftMemory {
  id: string;
  tenant: string;
  createdAt: string;
}

const listDraftMemoriesQuery = defineQuery<{ after: string; limit: number }, DraftMemory>(
  'list_draft_memories',
  ['after', 'limit'],
  `
SELECT id, draft_of AS tenant, ${time('created_at')} AS "createdAt" FROM tenants
WHERE draft_of IS NOT NULL AND id > $1 ORDER BY id LIMIT $2::bigint
`,
);

const isOpenQuery = defineQuery<{ tenant: string; id: string }, { isOpen: boolean }>(
  'is_draft_open',
  ['tenant', 'id'],
  `SELECT EXISTS (SELECT FROM drafts WHERE tenant_id = $1 AND id = $2 AND state = 'open') AS "isOpen"`,
);

export interface ExpiredDrafts {
  /** Drafts that were closed. */
  expired: number;
  /** Memories of drafts that were closed or never finished. */
  deleted: number;
}

/**
 * Closes the drafts that nobody has read or written for `DRAFT_DAYS`, or the tenant's own number of days.
 *
 * @returns undefined when another process does it
 */
export async function expireDrafts(
  database: Database,
  config: Pick<Config, 'DRAFT_DAYS'>,
  now?: Date,
): Promise<ExpiredDrafts | undefined> {
  const done: ExpiredDrafts = { expired: 0, deleted: 0 };
  const ran = await runTenantJob<DraftMemory>(database, {
    job: 'drafts',
    now,
    readTenants: (page) => database.query(listDraftMemoriesQuery, page),
    work: async ({ id, tenant, createdAt }, at) => {
      if (!(await database.query(isOpenQuery, { tenant, id })).rows[0]?.isOpen) {
        if (at.getTime() - Date.parse(createdAt) < UNFINISHED_MS) return;
        await new Tenants(database).deleteDraft(id);
        done.deleted++;
        return;
      }
      const draftDays = (await draftDaysOf(database.query, config, [tenant])).get(tenant) ?? 0;
      const expiry = expiryAfter(await lastUseOf(database.query, { id, createdAt }), draftDays);
      if (expiry === null || at.getTime() < expiry) return;
      await closeDraft(
        database,
        { tenant, draft: id },
        { state: 'expired', by: { type: 'system', job: 'drafts' } },
      );
      done.expired++;
    },
  });
  return ran ? done : undefined;
}
