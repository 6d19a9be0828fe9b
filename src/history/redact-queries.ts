import { defineQuery } from '../postgres/query.ts';
import { time } from '../postgres/time.ts';

export interface RedactRow {
  outcome: 'missing' | 'live' | 'redacted';
  /** The head version of the live file that has the content. */
  head: string | null;
  versions: number;
  samePath: number;
  redactedAt: string | null;
}

/** Redacts a version: see migrations/functions/memory_redact.sql. `by` is the actor, as JSON. */
export const redactVersionQuery = defineQuery<{ tenant: string; version: string; by: string }, RedactRow>(
  'redact_version',
  ['tenant', 'version', 'by'],
  `
SELECT outcome, head, versions::float8, same_path::float8 AS "samePath", ${time('redacted_at')} AS "redactedAt"
FROM memory_redact($1, $2::text::uuid, $3::text::jsonb)
`,
);

/** Replaces up to so many of a tenant's stored answers by another text, in the order of their keys, after the key `after`. */
export const redactAnswersQuery = defineQuery<
  { tenant: string; after: string; until: string; text: string; limit: number },
  { last: string | null; redacted: number }
>(
  'redact_answers',
  ['tenant', 'after', 'until', 'text', 'limit'],
  `
WITH redacted AS (
  UPDATE idempotency_keys SET content = $4 WHERE tenant_id = $1 AND key_hash = ANY (ARRAY(
    SELECT key_hash FROM idempotency_keys
    WHERE tenant_id = $1 AND key_hash > $2 AND created_at <= $3::text::timestamptz AND content <> $4
    ORDER BY key_hash LIMIT $5::integer
  ))
  RETURNING key_hash
)
SELECT max(key_hash) AS last, count(*)::float8 AS redacted FROM redacted
`,
);

export const redactQueries = [redactVersionQuery, redactAnswersQuery] as const;
