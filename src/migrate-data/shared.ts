import { ServiceError } from '../errors.ts';
import type { QueryExecutor } from '../postgres/query.ts';
import { Digest, identity, insertRows, isSameRow, matchingRows, readPagesOf } from './rows.ts';
import type { Table, TextRow } from './table.ts';

/**
 * Compares the rows of a table with those that the target has under the same key. Rows that only the target has do not matter.
 *
 * @param onPage receives each page, with those of its rows that the target does not have
 * @throws ServiceError when a row differs
 */
export async function compareRows(
  from: QueryExecutor,
  to: QueryExecutor,
  table: Table,
  onPage: (rows: TextRow[], missing: TextRow[]) => Promise<void> | void,
): Promise<void> {
  for await (const rows of readPagesOf(from, table, null)) {
    const there = await matchingRows(to, table, rows);
    const missing: TextRow[] = [];
    for (const row of rows) {
      const other = there.get(identity(table, row));
      if (other === undefined) missing.push(row);
      else if (!isSameRow(row, other)) throw new ServiceError('target_has_other_data', nameOf(table, row));
    }
    await onPage(rows, missing);
  }
}

/**
 * Copies the rows that the target does not have, and then compares all of them.
 *
 * @throws ServiceError when the target has another row under the same key
 */
export async function copyShared(from: QueryExecutor, to: QueryExecutor, table: Table): Promise<Digest> {
  const digest = new Digest();
  await compareRows(from, to, table, async (rows, missing) => {
    digest.add(rows);
    if (missing.length > 0) await insertRows(to, table, null, missing);
  });
  await compareRows(from, to, table, (rows, missing) => {
    if (missing.length > 0)
      throw new ServiceError('copy_differs', table.name, rows.length - missing.length, rows.length);
  });
  return digest;
}

/** What a person knows a row by. The hash of a key is none of that. */
function nameOf(table: Table, row: TextRow): string {
  switch (table.name) {
    case 'public.tenants':
      return `tenant ${identity(table, row)}`;
    case 'public.fleet_usage':
      return `the usage of ${identity(table, row)}`;
    case 'public.api_keys':
      return 'an API key with the same secret';
    default:
      return `a row of ${table.name.replace('public.', '')}`;
  }
}
