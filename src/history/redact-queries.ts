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

/** Redacts the names of directories that are gone: see migrations/functions/memory_redact.sql. */
export const redactDirectoriesQuery = defineQuery<
  { tenant: string; path: string; dryRun: boolean },
  {
    outcome: 'missing' | 'live' | 'kept' | 'redacted';
    /** The version that has to be redacted first. */
    version: string | null;
    directories: number;
    redactedAt: string | null;
  }
>(
  'redact_directories',
  ['tenant', 'path', 'dryRun'],
  `
SELECT outcome, version, directories::float8, ${time('redacted_at')} AS "redactedAt"
FROM memory_redact_directories($1, $2, $3::boolean)
`,
);

/**
 * Replaces up to so many of a tenant's stored answers by another text, in the order of their keys, after the key `after`. The hashes of
 * their requests go, too: what is short could be found by trying.
 */
export const redactAnswersQuery = defineQuery<
  { tenant: string; after: string; until: string; text: string; limit: number },
  { last: string | null; redacted: number }
>(
  'redact_answers',
  ['tenant', 'after', 'until', 'text', 'limit'],
  `
WITH redacted AS (
  UPDATE idempotency_keys SET content = $4, request_hash = '' WHERE tenant_id = $1 AND key_hash = ANY (ARRAY(
    SELECT key_hash FROM idempotency_keys
    WHERE tenant_id = $1 AND key_hash > $2 AND created_at <= $3::text::timestamptz AND (content <> $4 OR request_hash <> '')
    ORDER BY key_hash LIMIT $5::integer
  ))
  RETURNING key_hash
)
SELECT max(key_hash) AS last, count(*)::float8 AS redacted FROM redacted
`,
);
