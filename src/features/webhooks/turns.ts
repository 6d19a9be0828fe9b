import type { Database } from '../../core/database/database.ts';
import { defineQuery } from '../../core/database/query.ts';
import { DELIVERY_COLUMNS, type DeliveredWebhook, type DisabledReason } from './webhooks.ts';

/* Turns: a replica delivers to an endpoint while it holds the endpoint's lease. */

/** Time after which another replica may continue, if a replica ended during a turn. */
export const LEASE_MS = 60_000;

const IS_DUE = `disabled_reason IS NULL AND next_attempt_at <= $now::text::timestamptz
  AND (lease_until IS NULL OR lease_until < $now::text::timestamptz)`;

const claimQuery = defineQuery<
  { holder: string; now: string; leaseUntil: string; limit: number },
  { id: string }
>(
  'claim_webhooks',
  `
UPDATE webhooks SET holder = $holder, lease_until = $leaseUntil::text::timestamptz
WHERE id IN (SELECT id FROM webhooks WHERE ${IS_DUE} ORDER BY next_attempt_at LIMIT $limit::bigint) AND ${IS_DUE}
RETURNING id
`,
);

const findClaimedQuery = defineQuery<{ ids: string[]; holder: string }, DeliveredWebhook>(
  'find_claimed_webhooks',
  `SELECT ${DELIVERY_COLUMNS} FROM webhooks WHERE id = ANY ($ids::text[]) AND holder = $holder`,
);

/** An endpoint's state after a turn. */
export type TurnEnd = {
  cursor: string;
  disabledReason: DisabledReason | null;
  failingSince: string | null;
  failures: number;
  gapAt: string | null;
  nextAttemptAt: string;
};

/**
 * Saves a turn's end. A position that an operator has chosen in the meantime is kept, and an endpoint that has become
 * due in the meantime stays due.
 */
const endTurnQuery = defineQuery<TurnEnd & { id: string; holder: string; start: string; dueAt: string }>(
  'end_webhook_turn',
  `
UPDATE webhooks SET
  cursor = CASE WHEN cursor = $start THEN $cursor ELSE cursor END,
  next_attempt_at =
    CASE WHEN next_attempt_at = $dueAt::timestamptz THEN $nextAttemptAt::timestamptz ELSE next_attempt_at END,
  disabled_reason = COALESCE(disabled_reason, $disabledReason::text),
  failing_since = $failingSince::text::timestamptz, failures = $failures::integer,
  gap_at = $gapAt::text::timestamptz, holder = NULL, lease_until = NULL
WHERE id = $id AND holder = $holder
`,
);

const hasWebhooksQuery = defineQuery<Record<string, never>, { found: boolean }>(
  'has_webhooks',
  'SELECT EXISTS (SELECT FROM webhooks WHERE disabled_reason IS NULL) AS found',
);

export async function hasWebhooks({ query }: Database): Promise<boolean> {
  return (await query(hasWebhooksQuery, {})).rows[0]?.found ?? false;
}

const makeDueQuery = defineQuery<{ tenants: string[]; now: string }>(
  'make_webhooks_due',
  `
UPDATE webhooks SET next_attempt_at = $now::text::timestamptz
WHERE disabled_reason IS NULL AND failing_since IS NULL AND (tenant_id IS NULL OR tenant_id = ANY ($tenants::text[]))
`,
);

/** Makes the endpoints for tenants, and for all tenants, due, unless they fail. */
export async function makeDue({ query }: Database, tenants: string[], now: string): Promise<void> {
  await query(makeDueQuery, { tenants, now });
}

/** Takes the leases for at most `limit` endpoints that are due. */
export async function beginTurns(
  { query }: Database,
  { holder, now, limit }: { holder: string; now: string; limit: number },
): Promise<DeliveredWebhook[]> {
  const leaseUntil = new Date(Date.parse(now) + LEASE_MS).toISOString();
  const { rows } = await query(claimQuery, { holder, now, leaseUntil, limit });
  if (rows.length === 0) return [];
  return (await query(findClaimedQuery, { ids: rows.map(({ id }) => id), holder })).rows;
}

/** Ends a turn, and gives the lease back. */
export async function endTurn(
  { query }: Database,
  webhook: DeliveredWebhook,
  holder: string,
  end: TurnEnd,
): Promise<void> {
  const { id, cursor: start, nextAttemptAt: dueAt } = webhook;
  await query(endTurnQuery, { ...end, id, holder, start, dueAt });
}
