import { defineQuery } from '../postgres/query.ts';

/** The tenants that have answers under idempotency keys, in the order of their ids, a page at a time. */
export const tenantsWithAnswersQuery = defineQuery<{ after: string; limit: number }, { id: string }>(
  'tenants_with_answers',
  ['after', 'limit'],
  `
SELECT id FROM tenants AS t
WHERE id > $1 AND EXISTS (SELECT FROM idempotency_keys AS i WHERE i.tenant_id = t.id) ORDER BY id LIMIT $2
`,
);

/** The time of the oldest of the `maxAnswers` newest answers of a tenant; no row for fewer answers. */
export const oldestAnswerKeptQuery = defineQuery<
  { tenant: string; maxAnswers: number },
  { createdAt: string }
>(
  'oldest_answer_kept',
  ['tenant', 'maxAnswers'],
  `
SELECT created_at::text AS "createdAt" FROM idempotency_keys WHERE tenant_id = $1
ORDER BY created_at DESC OFFSET $2::integer - 1 LIMIT 1
`,
);

export const countAnswersQuery = defineQuery<{ tenant: string }, { answers: number }>(
  'count_answers',
  ['tenant'],
  'SELECT count(*)::integer AS answers FROM idempotency_keys WHERE tenant_id = $1',
);

/** Deletes up to `limit` of a tenant's answers that are older than a time, the oldest first. */
export const pruneAnswersQuery = defineQuery<{ tenant: string; before: string; limit: number }>(
  'prune_answers',
  ['tenant', 'before', 'limit'],
  `
DELETE FROM idempotency_keys WHERE tenant_id = $1 AND key_hash = ANY (ARRAY(
  SELECT key_hash FROM idempotency_keys WHERE tenant_id = $1 AND created_at < $2::timestamptz
  ORDER BY created_at LIMIT $3::integer
))
`,
);

/** Deletes at most `limit` stored answers of a tenant. */
export const eraseAnswersQuery = defineQuery<{ tenant: string; limit: number }>(
  'erase_answers',
  ['tenant', 'limit'],
  `
DELETE FROM idempotency_keys WHERE tenant_id = $1
  AND key_hash = ANY (ARRAY(SELECT key_hash FROM idempotency_keys WHERE tenant_id = $1 LIMIT $2::integer))
`,
);

/** Copies all answers under a tenant's idempotency keys to another tenant, which has none of them. */
export const copyAnswersQuery = defineQuery<{ tenant: string; to: string }>(
  'copy_answers',
  ['tenant', 'to'],
  `
INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error, created_at)
SELECT $2, key_hash, request_hash, content, is_error, created_at FROM idempotency_keys WHERE tenant_id = $1
ON CONFLICT (tenant_id, key_hash) DO NOTHING
`,
);
