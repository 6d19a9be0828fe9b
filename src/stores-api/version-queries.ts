import { AFTER, COLUMNS, FIRST_ID, LAST_ID, type VersionRow } from '../history/version.ts';
import { defineQuery } from '../postgres/query.ts';

/** What a list of versions is narrowed to; null: not by that. Times in ISO 8601, both included. */
export type VersionFilter = {
  memory: string | null;
  operation: 'created' | 'modified' | 'deleted' | null;
  apiKey: string | null;
  serviceAccount: string | null;
  session: string | null;
  since: string | null;
  until: string | null;
};

/** A page of versions, the newest first: those before `before`. Ids begin with the time. A rename counts as a modification. */
export const listStoreVersionsQuery = defineQuery<
  { tenant: string } & VersionFilter & { before: string | null; limit: number },
  VersionRow
>(
  'list_store_versions',
  [
    'tenant',
    'memory',
    'operation',
    'apiKey',
    'serviceAccount',
    'since',
    'until',
    'before',
    'limit',
    'session',
  ],
  `
SELECT ${COLUMNS} FROM (
  SELECT v.* FROM memory_versions AS v
  WHERE v.tenant_id = $1
    AND v.id >= COALESCE(memory_first_id($6::text::timestamptz), '${FIRST_ID}')
    AND v.id < COALESCE($8::text::uuid, '${LAST_ID}') AND v.id < COALESCE(${AFTER('$7')}, '${LAST_ID}')
    AND ($2::text IS NULL OR v.memory_id = $2::text::uuid)
    AND ($3::text IS NULL OR CASE v.operation WHEN 'renamed' THEN 'modified' ELSE v.operation END = $3::text)
    AND ($4::text IS NULL OR (v.origin #>> '{actor,type}' IN ('api_key', 'admin_key') AND v.origin #>> '{actor,id}' = $4::text))
    AND ($5::text IS NULL OR (v.origin #>> '{actor,type}' = 'jwt' AND v.origin #>> '{actor,subject}' = $5::text))
    AND ($10::text IS NULL OR (v.origin #>> '{actor,type}' = 'session' AND v.origin #>> '{actor,id}' = $10::text))
  ORDER BY v.id DESC LIMIT $9::integer
) AS v
ORDER BY v.id DESC
`,
);
