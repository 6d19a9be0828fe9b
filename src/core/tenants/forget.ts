import { randomBytes } from 'node:crypto';
import type { Database } from '../database/database.ts';
import { defineQuery, time } from '../database/query.ts';
import { forgetActivityQuery } from './activity.ts';
import { forgetEventsQuery } from './events.ts';
import { forgetKeptOut } from './kept-out-entries.ts';
import { forgetMounts } from './mounts.ts';
import { forgetDeliveriesQuery, replaceProposerQuery, replaceReaderQuery } from './queries.ts';
import { forgottenId } from './receipt.ts';
import { forgetReceipts } from './receipts.ts';

/** No index finds the rows, because it would slow down each write. */
const forgetChangesQuery = defineQuery<{ tenant: string }>(
  'forget_tenant_changes',
  'DELETE FROM change_log WHERE tenant_id = $tenant',
);

/** An event that contains the ID, or the last event on its page. */
interface Found {
  id: string;
  at: string;
  isLast: boolean;
  tenant: string | null;
  actor: unknown;
  details: unknown;
}

/**
 * Reads a page of events in index order, oldest first, so that the last page includes events added in the meantime.
 */
const findMentionsQuery = defineQuery<
  { tenant: string; afterAt: string; afterId: string; limit: number },
  Found
>(
  'find_audit_mentions',
  `
SELECT id::text, ${time('at')} AS at, "isLast", tenant_id AS tenant, actor, details
FROM (
  SELECT id, at, tenant_id, actor, details, row_number() OVER (ORDER BY at DESC, id DESC) = 1 AS "isLast"
  FROM (
    SELECT * FROM audit_events
    WHERE (at, id) > ($afterAt::text::timestamptz, $afterId::text::uuid) ORDER BY at, id LIMIT $limit::bigint
  ) AS events
) AS page
WHERE "isLast" OR tenant_id = $tenant OR strpos(details::text, $tenant) > 0 OR strpos(actor::text, $tenant) > 0
ORDER BY page.at, page.id
`,
);

type EventPosition = Pick<Found, 'at' | 'id'>;

const BEFORE_ALL: EventPosition = { at: '-infinity', id: '00000000-0000-0000-0000-000000000000' };
const EVENTS_A_PAGE = 2000;

async function findMentions(database: Database, tenant: string, after: EventPosition): Promise<Found[]> {
  const position = { afterAt: after.at, afterId: after.id, limit: EVENTS_A_PAGE };
  return (await database.query(findMentionsQuery, { tenant, ...position })).rows;
}

/** Updates an event. Null keeps a column, because an event that is still open gets its details later. */
const replaceMentionsQuery = defineQuery<{
  id: string;
  tenant: string | null;
  actor: string | null;
  details: string | null;
}>(
  'replace_audit_mentions',
  `
UPDATE audit_events
SET tenant_id = COALESCE($tenant, tenant_id), actor = COALESCE($actor::text::jsonb, actor),
  details = COALESCE($details::text::jsonb, details)
WHERE id = $id::text::uuid
`,
);

interface FoundJob {
  id: string;
  onlyTenants: string[] | null;
  selection: unknown;
  request: unknown;
  createdBy: unknown;
}

const listJobMentionsQuery = defineQuery<{ tenant: string; after: string; limit: number }, FoundJob>(
  'list_job_mentions',
  `
SELECT id::text, only_tenants AS "onlyTenants", selection, request, created_by AS "createdBy" FROM jobs
WHERE id > $after::text::uuid AND strpos(concat_ws(' ', only_tenants::text, arrived::text, selection::text, request::text, created_by::text), $tenant) > 0
ORDER BY id LIMIT $limit::bigint
`,
);

/** Replaces a tenant's ID in a job. The tenant itself was deleted, so an active job selects the same tenants. */
const replaceInJobQuery = defineQuery<{
  id: string;
  tenant: string;
  hash: string;
  selection: string;
  request: string;
  createdBy: string;
}>(
  'replace_in_job',
  `
UPDATE jobs SET only_tenants = array_replace(only_tenants, $tenant::text, $hash::text),
  arrived = array_replace(arrived, $tenant::text, $hash::text),
  selection = $selection::text::jsonb,
  request = $request::text::jsonb, created_by = $createdBy::text::jsonb
WHERE id = $id::text::uuid
`,
);

const JOBS_A_PAGE = 500;

async function forgetInJobs(database: Database, tenant: string, hash: string): Promise<void> {
  for (let after: string | undefined = BEFORE_ALL.id; after !== undefined; ) {
    const page: FoundJob[] = (
      await database.query(listJobMentionsQuery, { tenant, after, limit: JOBS_A_PAGE })
    ).rows;
    for (const { id, selection, request, createdBy } of page) {
      const changedJson = (value: unknown) => JSON.stringify(withoutTenant(value, tenant, hash));
      const changes = {
        selection: changedJson(selection),
        request: changedJson(request),
        createdBy: changedJson(createdBy),
      };
      await database.query(replaceInJobQuery, { id, tenant, hash, ...changes });
    }
    after = page.length < JOBS_A_PAGE ? undefined : page.at(-1)?.id;
  }
}

/**
 * Replaces a deleted tenant's ID with a hash, which is the same everywhere: in the audit trail, in the jobs, and in
 * other tenants' mounts, drafts, and records of reads. Deletes the receipts that contain the ID. The hash's salt is random and
 * not stored, so that a guessed ID cannot be verified against the hash. Deletes the tenant's events, and its rows in the
 * change log, the webhook deliveries, and the activity. If the call is interrupted, repeat it.
 *
 * @returns the hash with its salt, and the number of events that contained the ID
 */
export async function forgetTenant(
  database: Database,
  tenant: string,
): Promise<{ hash: string; events: number; salt: string }> {
  const salt = randomBytes(32).toString('hex');
  const hash = forgottenId(tenant, salt);
  await forgetReceipts(database.query, tenant);
  await forgetKeptOut(database, tenant);
  await forgetMounts(database, tenant, hash);
  await database.query(replaceReaderQuery, { tenant, to: hash });
  await database.query(replaceProposerQuery, { tenant, to: hash });
  await forgetInJobs(database, tenant, hash);
  await database.query(forgetChangesQuery, { tenant });
  await database.query(forgetEventsQuery, { tenant });
  await database.query(forgetDeliveriesQuery, { tenant });
  await database.query(forgetActivityQuery, { tenant });
  let events = 0;
  for (let after: EventPosition | undefined = BEFORE_ALL; after !== undefined; ) {
    const rows: Found[] = await findMentions(database, tenant, after);
    for (const found of rows) {
      const changes = {
        tenant: found.tenant === tenant ? hash : null,
        actor: changedJson(found.actor, withoutTenant(found.actor, tenant, hash)),
        details: changedJson(found.details, withoutTenant(found.details, tenant, hash)),
      };
      if (Object.values(changes).every((change) => change === null)) continue;
      await database.query(replaceMentionsQuery, { id: found.id, ...changes });
      events++;
    }
    after = rows.find(({ isLast }) => isLast);
  }
  return { hash, events, salt };
}

function changedJson(before: unknown, after: unknown): string | null {
  const text = JSON.stringify(after);
  return text === JSON.stringify(before) ? null : text;
}

/** Fields that contain a tenant ID. */
const IDS: ReadonlySet<string> = new Set(['tenant', 'tenants', 'except', 'to', 'store', 'draft']);
/** Fields with free text from a person or a token, which may contain a tenant ID. */
const TEXTS: ReadonlySet<string> = new Set([
  'by',
  'search',
  'label',
  'source',
  'subject',
  'title',
  'description',
  'instructions',
  'metadata',
]);
/** A tenant's or mount's name. In an actor, the operator's name. */
const NAME = 'name';

/**
 * Replaces a tenant's ID in an event's details or actor. Keeps other fields, whose values are the service's own
 * terms, such as `tenant` for a key's kind. A tenant can have such a term as its ID.
 */
export function withoutTenant(value: unknown, tenant: string, hash: string): unknown {
  const word = new RegExp(
    `(?<![A-Za-z0-9_])${tenant.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![A-Za-z0-9_])`,
    'g',
  );
  const isOperator =
    typeof value === 'object' && value !== null && 'type' in value && value.type === 'operator';
  const hashInText = (text: string) => text.replace(word, hash);

  const replace = (each: unknown, field: string): unknown => {
    const isText = TEXTS.has(field) || (field === NAME && !isOperator);
    if (typeof each === 'string') {
      if (isText) return hashInText(each);
      return IDS.has(field) && each === tenant ? hash : each;
    }
    if (Array.isArray(each)) return each.map((item) => replace(item, field));
    if (typeof each !== 'object' || each === null) return each;
    return Object.fromEntries(
      Object.entries(each).map(([name, item]) => {
        // `{ old, new }` contains values for the enclosing field. The names in `metadata` are chosen by its author.
        if (name === 'old' || name === 'new') return [name, replace(item, field)];
        return field === 'metadata' ? [hashInText(name), replace(item, field)] : [name, replace(item, name)];
      }),
    );
  };
  return replace(value, '');
}
