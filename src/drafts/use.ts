import type { Config } from '../config.ts';
import { defineQuery, type QueryExecutor } from '../postgres/query.ts';
import { lastFileUseQuery } from '../tenants/queries.ts';
import { DAY_MS } from '../util/duration.ts';
import type { Draft } from './drafts.ts';

/* When drafts were last used, and when that closes them. */

const listDraftDaysQuery = defineQuery<
  { ids: string[]; draftDays: number },
  { id: string; draftDays: number }
>(
  'list_draft_days',
  ['ids', 'draftDays'],
  `
SELECT id, COALESCE(draft_days, $2::bigint)::float8 AS "draftDays" FROM tenants WHERE id = ANY ($1::text[])
`,
);

/** After how many days without use the drafts of tenants are closed, by the ids of the tenants; 0: never. */
export async function draftDaysOf(
  query: QueryExecutor,
  config: Pick<Config, 'DRAFT_DAYS'>,
  tenants: Iterable<string>,
): Promise<Map<string, number>> {
  const ids = [...new Set(tenants)];
  if (ids.length === 0) return new Map();
  const { rows } = await query(listDraftDaysQuery, { ids, draftDays: config.DRAFT_DAYS });
  return new Map(rows.map(({ id, draftDays }) => [id, draftDays]));
}

/** When the memory of an open draft was made or last read or written, in milliseconds. Reads count to the day. */
export async function lastUseOf(
  query: QueryExecutor,
  { id, createdAt }: Pick<Draft, 'id' | 'createdAt'>,
): Promise<number> {
  const at = (await query(lastFileUseQuery, { tenant: id })).rows[0]?.at ?? null;
  return Math.max(Date.parse(createdAt), at === null ? 0 : Date.parse(at));
}

/** When a draft that was last used then is closed; null: never. */
export function expiryAfter(lastUse: number, draftDays: number): number | null {
  return draftDays === 0 ? null : lastUse + draftDays * DAY_MS;
}
