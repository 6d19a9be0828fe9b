import { randomUUID } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import { databaseTime } from '../database/clock.ts';
import { containsText, type SoughtPart } from '../database/contains-text.ts';
import type { Database } from '../database/database.ts';
import { asDatabaseError, runWithRetries } from '../database/database-errors.ts';
import { defineQuery, time } from '../database/query.ts';
import { ServiceError } from '../errors/errors.ts';
import { cutPage, type Page, type TimePosition } from '../lib/pages.ts';
import { renameKeys, snakeCase } from '../lib/text-forms.ts';
import { DAY_MS } from '../lib/units.ts';
import { type Actor, storedActor } from '../memory/origin.ts';

/** Channel for an administrative change. `console` is the web interface, which calls the admin API. */
export type AuditChannel = 'admin_api' | 'console' | 'command_line' | 'memory_stores_api' | 'sharing_api';

/** An administrative change that is about to start. Fields must not contain file contents, paths, or secrets. */
export interface AuditIntent {
  actor: Actor;
  /** Operation name from admin-openapi.yaml. The command line uses the same names. */
  action: string;
  channel: AuditChannel;
  /** The caller's IP address, or the host that ran the command. */
  address: string;
  requestId: string | null;
  dryRun: boolean;
}

/** Subject of an administrative change, and the changed values. A value that replaces another is `{ old, new }`. */
export interface AuditSubject {
  tenant?: string | undefined;
  key?: string | undefined;
  details?: Record<string, unknown>;
}

export interface AuditEvent extends AuditIntent {
  id: string;
  /** ISO 8601 in UTC, to the microsecond. */
  at: string;
  tenant: string | null;
  key: string | null;
  details: Record<string, unknown>;
  /** `ok` or an error code. Null while the change is running, or if the process ended before the change did. */
  outcome: string | null;
}

/** A completed event for telemetry exporters. */
export interface CompletedAuditEvent extends AuditIntent, AuditSubject {
  id: string;
  /** Time when the change started, by the process clock. */
  startedAt: Date;
  /** `ok` or an error code. */
  outcome: string;
}

/** Publishes each completed event. Without a subscriber, no event is built. */
export const completedAuditEvents = channel('memory-service.audit');

function publish(completed: () => CompletedAuditEvent): void {
  if (completedAuditEvents.hasSubscribers) completedAuditEvents.publish(completed());
}

/** Returns the details for a settings change, with each setting's old and new value. */
export function changedValues<Name extends string>(
  before: { [name in Name]?: unknown },
  after: { [name in Name]?: unknown },
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(after).map(([name, value]) => [
      snakeCase(name),
      { old: before[name as Name] ?? null, new: value },
    ]),
  );
}

const insertQuery = defineQuery<{
  id: string;
  actor: string;
  action: string;
  channel: string;
  address: string;
  requestId: string | null;
  dryRun: boolean;
  tenant: string | null;
  key: string | null;
  outcome: string | null;
}>(
  'insert_audit_event',
  `
INSERT INTO audit_events (id, actor, action, channel, address, request_id, dry_run, tenant_id, key_id, outcome)
VALUES ($id::text::uuid, $actor::text::jsonb, $action, $channel, $address, $requestId, $dryRun::boolean, $tenant, $key,
  $outcome)
`,
);

/**
 * Completes an event. Keeps a tenant that is already recorded, because `forgetTenant` may have replaced its ID in the
 * meantime.
 */
const finishQuery = defineQuery<{
  id: string;
  outcome: string;
  tenant: string | null;
  key: string | null;
  details: string;
}>(
  'finish_audit_event',
  `
UPDATE audit_events
SET outcome = $outcome, tenant_id = COALESCE(tenant_id, $tenant), key_id = COALESCE($key, key_id),
  details = $details::text::jsonb
WHERE id = $id::text::uuid
`,
);

/** Filter for a list of events. Null fields do not filter. */
export interface AuditFilter {
  tenant: string | null;
  /** Part of the tenant's ID, case-insensitive. */
  tenantContains: SoughtPart;
  key: string | null;
  /** A key's or user's ID or label, a token's subject, or an operator's name. */
  by: string | null;
  /** Part of the same texts, case-insensitive. */
  byContains: SoughtPart;
  /** Any of these operations. */
  actions: string[] | null;
  /** `ok`, `failed` (any completed event except `ok`), or an error code. */
  outcome: string | null;
  /** ISO 8601; `until` is exclusive. */
  since: string | null;
  until: string | null;
  /** Tenants whose events the caller may see; null means all events. */
  scope: string[] | null;
}

const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

const ACTOR_NAMES =
  "concat_ws(chr(10), actor ->> 'id', actor ->> 'label', actor ->> 'subject', actor ->> 'name')";

/**
 * Lists a page of events from the position at which the previous page ended in the index. The columns in `ORDER BY` are
 * qualified, because the result has columns with the same names.
 */
const defineListQuery = (name: string, ofTenant: string) =>
  defineQuery<
    { [name in keyof AuditFilter]: AuditFilter[name] } & {
      afterAt: string | null;
      afterId: string | null;
      limit: number;
    },
    AuditEvent
  >(
    name,
    `
SELECT id::text, ${time('at')} AS at, actor, action, channel, address, request_id AS "requestId", dry_run AS "dryRun",
  tenant_id AS tenant, key_id AS key, details, outcome
FROM audit_events
WHERE ${ofTenant} AND ($key::text IS NULL OR key_id = $key)
  AND ($by::text IS NULL OR $by IN (actor ->> 'id', actor ->> 'label', actor ->> 'subject', actor ->> 'name'))
  AND ($tenantContains::text[] IS NULL OR ${containsText('tenant_id', 'tenantContains')})
  AND ($byContains::text[] IS NULL OR ${containsText(ACTOR_NAMES, 'byContains')})
  AND ($actions::text[] IS NULL OR action = ANY ($actions::text[]))
  AND ($outcome::text IS NULL OR outcome = $outcome OR ($outcome = 'failed' AND outcome <> 'ok'))
  AND at >= COALESCE($since::text::timestamptz, '-infinity') AND at < COALESCE($until::text::timestamptz, 'infinity')
  AND ($scope::text[] IS NULL OR tenant_id = ANY ($scope::text[]))
  AND (at, id) < (COALESCE($afterAt::text::timestamptz, 'infinity'), COALESCE($afterId::text::uuid, '${LAST_ID}'))
ORDER BY audit_events.at DESC, audit_events.id DESC LIMIT $limit::bigint
`,
  );

const listQuery = defineListQuery('list_audit_events', '($tenant::text IS NULL OR tenant_id = $tenant)');
const listTenantQuery = defineListQuery('list_audit_events_of_tenant', 'tenant_id = $tenant');

const EVENTS_A_BATCH = 1000;

const pruneQuery = defineQuery<{ before: string; limit: number }>(
  'prune_audit_events',
  `
DELETE FROM audit_events WHERE id = ANY (
  ARRAY(SELECT id FROM audit_events WHERE at < $before::text::timestamptz ORDER BY at LIMIT $limit::bigint)
)
`,
);

/** A recorded event whose change has not ended yet. */
export interface OpenAuditEvent {
  /** Adds values to the record that is written when the event ends. */
  note(more: AuditSubject): void;
  /** Records the outcome. Never rejects. */
  finish(outcome: string): Promise<void>;
}

/**
 * Records that an administrative change starts, before the change itself, so that every change is recorded. Throws
 * `DatabaseError`; the change must then not be made.
 *
 * @param onUnrecorded receives the error if the outcome cannot be recorded. The change itself has happened and its
 *   start is recorded, so the caller must not treat it as failed and repeat it.
 */
export async function beginAudit(
  database: Database,
  intent: AuditIntent,
  subject: AuditSubject,
  onUnrecorded: (error: Error) => void,
): Promise<OpenAuditEvent> {
  const startedAt = new Date();
  const id = await insert(database, intent, subject, null);
  let noted = subject;
  return {
    note({ tenant, key, details }) {
      noted = {
        tenant: tenant ?? noted.tenant,
        key: key ?? noted.key,
        details: { ...noted.details, ...details },
      };
    },
    async finish(outcome) {
      const { tenant = null, key = null } = noted;
      const details = renameKeys(noted.details ?? {}, snakeCase) as Record<string, unknown>;
      publish(() => ({ ...intent, ...noted, details, id, startedAt, outcome }));
      const params = { id, outcome, tenant, key, details: JSON.stringify(details) };
      await runWithRetries(true, () => database.query(finishQuery, params)).then(() => {}, onUnrecorded);
    },
  };
}

/**
 * Makes a change and records it.
 *
 * @param work makes the change; its argument adds to the record
 * @param options.describeOutcome maps the channel's errors to outcomes
 */
export async function runAudited<T>(
  database: Database,
  intent: AuditIntent,
  subject: AuditSubject,
  work: (note: OpenAuditEvent['note']) => Promise<T>,
  options: { onUnrecorded: (error: Error) => void; describeOutcome?: (error: unknown) => string | undefined },
): Promise<T> {
  const event = await beginAudit(database, intent, subject, options.onUnrecorded);
  try {
    const result = await work(event.note);
    await event.finish('ok');
    return result;
  } catch (error) {
    await event.finish(options.describeOutcome?.(error) ?? describeOutcome(error));
    throw error;
  }
}

function describeOutcome(error: unknown): string {
  return error instanceof ServiceError ? error.code : asDatabaseError(error).code;
}

export async function recordRejection(
  database: Database,
  intent: AuditIntent,
  subject: AuditSubject,
  outcome: string,
): Promise<void> {
  const startedAt = new Date();
  const id = await insert(database, intent, subject, outcome);
  publish(() => ({ ...intent, ...subject, id, startedAt, outcome }));
}

async function insert(
  database: Database,
  { actor, ...intent }: AuditIntent,
  { tenant, key }: AuditSubject,
  outcome: string | null,
): Promise<string> {
  const id = randomUUID();
  const about = { tenant: tenant ?? null, key: key ?? null };
  const params = { ...intent, ...about, id, actor: storedActor(actor), outcome };
  await runWithRetries(false, () => database.query(insertQuery, params));
  return id;
}

export async function listAudit(
  database: Database,
  filter: AuditFilter,
  { limit, after }: { limit: number; after: TimePosition | null },
): Promise<Page<AuditEvent, TimePosition>> {
  const statement = filter.tenant === null ? listQuery : listTenantQuery;
  const params = { ...filter, afterAt: after?.time ?? null, afterId: after?.id ?? null, limit: limit + 1 };
  const { rows } = await database.query(statement, params);
  return cutPage(rows, limit, ({ at: time, id }) => ({ time, id }));
}

/** Deletes events older than `days` in batches. Returns the number of deleted events. */
export async function pruneAudit(database: Database, days: number): Promise<number> {
  const before = new Date((await databaseTime(database)).getTime() - days * DAY_MS).toISOString();
  let pruned = 0;
  for (;;) {
    const { count } = await database.query(pruneQuery, { before, limit: EVENTS_A_BATCH });
    pruned += count;
    if (count < EVENTS_A_BATCH) return pruned;
  }
}
