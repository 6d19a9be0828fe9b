import { defineQuery, type QueryExecutor } from '../database/query.ts';
import { type Actor, storedActor } from '../memory/origin.ts';
import type { KeyKind } from './key-queries.ts';

/** Event types in the change feed, beside changes to files. */
export const TENANT_EVENTS = [
  'tenant_created',
  'tenant_suspended',
  'tenant_resumed',
  'tenant_deleted',
] as const;
export const DRAFT_EVENTS = ['draft_opened', 'draft_merged', 'draft_rejected'] as const;
export const SHARE_EVENTS = ['share_created', 'share_ended'] as const;
export const KEY_EVENTS = ['key_created', 'key_revoked'] as const;

/** An event's type with its details: IDs and other small facts, without paths and contents. */
export type EventFacts =
  | { type: (typeof TENANT_EVENTS)[number] }
  | { type: 'tenant_renamed'; previous_tenant: string }
  | { type: 'limit_near'; limit: 'files' | 'bytes'; used_percent: number }
  | { type: (typeof DRAFT_EVENTS)[number]; draft: { id: string; state: string } }
  | { type: (typeof SHARE_EVENTS)[number]; share: { id: string; access: string } }
  | { type: (typeof KEY_EVENTS)[number]; key: { id: string; kind: KeyKind; access: string } }
  | { type: 'job_ended'; job: { id: string; kind: string; state: string; tenants_failed: number } };

const recordEventQuery = defineQuery<{ tenant: string; type: string; actor: string; details: string }>(
  'record_event',
  'SELECT memory_record_event($tenant, $type, $actor::jsonb, $details::jsonb)',
);

/**
 * Records an event for the change feed, in the transaction that makes the change. Locks the tenant, except for a key's
 * or job's event. Skips drafts and missing tenants. Throws `DatabaseError`.
 *
 * @param tenant null for a job, and for a key without a tenant
 */
export async function recordEvent(
  query: QueryExecutor,
  tenant: string | null,
  { type, ...details }: EventFacts,
  by: Actor,
): Promise<void> {
  const stored = { actor: storedActor(by), details: JSON.stringify(details) };
  await query(recordEventQuery, { tenant: tenant ?? '', type, ...stored });
}

/** Leaves a deleted tenant's events only in the list of all tenants' changes. */
export const retireEventsQuery = defineQuery<{ tenant: string }>(
  'retire_events',
  'UPDATE tenant_events SET fleet_only = true WHERE tenant_id = $tenant AND NOT fleet_only',
);

/** Copies a renamed tenant's events. If the tenant had the new ID before, they are still there. */
export const copyEventsQuery = defineQuery<{ tenant: string; to: string }>(
  'copy_events',
  `
INSERT INTO tenant_events (tenant_id, at, id, type, actor, details, fleet_only)
SELECT $to, at, id, type, actor, details, false FROM tenant_events WHERE tenant_id = $tenant AND NOT fleet_only
ON CONFLICT (tenant_id, at, id) DO UPDATE SET fleet_only = false
`,
);

/** Deletes a forgotten tenant's events, and the renames that name it. */
export const forgetEventsQuery = defineQuery<{ tenant: string }>(
  'forget_events',
  `DELETE FROM tenant_events WHERE tenant_id = $tenant OR details ->> 'previous_tenant' = $tenant`,
);
