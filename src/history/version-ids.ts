import { OperatorError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { defineQuery } from '../postgres/query.ts';

/** How many IDs an error lists. */
const LISTED = 5;

const FULL_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** A full ID, or at least its first four digits. */
const ID_OR_START =
  /^[0-9a-f]{4,8}$|^[0-9a-f]{8}(-[0-9a-f]{0,4}){1,3}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{0,12}$/i;

const listVersionIdsQuery = defineQuery<
  { tenant: string; first: string; last: string; limit: number },
  { id: string }
>(
  'list_version_ids',
  ['tenant', 'first', 'last', 'limit'],
  `
SELECT v.id FROM memory_versions AS v
WHERE v.tenant_id = $1 AND v.id BETWEEN $2::text::uuid AND $3::text::uuid ORDER BY v.id LIMIT $4::integer
`,
);

/** Whether a text can be the full ID of a version. */
export function isFullVersionId(text: string): boolean {
  return FULL_ID.test(text);
}

/** Whether a text can be the ID of a version, or the start of one. */
export function isVersionId(text: string): boolean {
  return ID_OR_START.test(text);
}

/**
 * Finds the ID of a version by its start, as an operator may give it (`isVersionId`).
 *
 * @returns a full ID as it is, in lower case, whether there is such a version or not
 * @throws OperatorError when no version or several have an ID that starts so
 */
export async function fullVersionId(database: Database, tenant: string, start: string): Promise<string> {
  const digits = start.toLowerCase().replaceAll('-', '');
  if (digits.length === 32) return start.toLowerCase();
  const [first, last] = [digits.padEnd(32, '0'), digits.padEnd(32, 'f')];
  const { rows } = await database.query(listVersionIdsQuery, { tenant, first, last, limit: LISTED + 1 });
  const [only] = rows;
  if (only === undefined) throw noVersion(tenant, start);
  if (rows.length === 1) return only.id;
  const listed = rows.slice(0, LISTED).map(({ id }) => `\n  ${id}`);
  const more = rows.length > LISTED ? '\n  …' : '';
  throw new OperatorError(
    `Several versions of ${tenant} have an ID that starts with ${start}:${listed.join('')}${more}`,
  );
}

/** The error for a version that does not exist. */
export function noVersion(tenant: string, id: string): OperatorError {
  return new OperatorError(`There is no version ${id} of ${tenant}. See: memory-service log ${tenant}`, {
    code: 'not_found',
  });
}
