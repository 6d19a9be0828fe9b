import { createHash, type Hash } from 'node:crypto';
import type { QueryExecutor, Value } from '../postgres/query.ts';
import { ROW_BYTES, type SelectedRow, type Table, type TextRow } from './table.ts';

/** A page is in memory at once, a few times over. One row alone may be larger. */
const PAGE = { limit: 1000, bytes: 4 * 1024 * 1024 };

/** Reads the rows of a table by their key, page by page: those of a tenant, or of a table that is for no single one, all. */
export async function* readPagesOf(
  query: QueryExecutor,
  table: Table,
  tenant: string | null,
): AsyncGenerator<TextRow[]> {
  let last: TextRow | undefined;
  do {
    const rows = await readPage(query, table, tenant, last);
    if (rows.length > 0) yield rows;
    last = isCut(rows) ? rows.at(-1) : undefined;
  } while (last !== undefined);
}

async function readPage(
  query: QueryExecutor,
  table: Table,
  tenant: string | null,
  last: TextRow | undefined,
): Promise<TextRow[]> {
  const page = { tenant, ...PAGE };
  const { rows } =
    last === undefined
      ? await query(table.firstPage, page)
      : await query(table.nextPage, { ...page, ...keyOf(table, last) });
  return rows.map((row) => textRow(table, row));
}

/** Whether there may be more rows after a page. */
function isCut(rows: TextRow[]): boolean {
  if (rows.length === PAGE.limit) return true;
  // At least what the database counts, which ends a page.
  let bytes = 0;
  for (const row of rows) {
    bytes += ROW_BYTES;
    for (const text of row) bytes += text === null ? 0 : Buffer.byteLength(text);
  }
  return bytes >= PAGE.bytes;
}

function textRow({ columns }: Table, row: SelectedRow): TextRow {
  return Array.from({ length: columns }, (_, i) => row[`c${i}`] ?? null);
}

function keyOf(table: Table, row: TextRow): Record<string, Value> {
  return Object.fromEntries(table.key.map((position, i) => [`after${i}`, row[position] ?? null]));
}

export async function insertRows(
  query: QueryExecutor,
  table: Table,
  tenant: string | null,
  rows: TextRow[],
): Promise<void> {
  const columns = Array.from({ length: table.columns }, (_, i) => [
    `c${i}`,
    rows.map((row) => row[i] ?? null),
  ]);
  await query(table.insert, { tenant, ...Object.fromEntries(columns) });
}

/** The rows whose first key column is that of one of `rows`, by that value. */
export async function matchingRows(
  query: QueryExecutor,
  table: Table,
  rows: TextRow[],
): Promise<Map<string, TextRow>> {
  const values = rows.map((row) => identity(table, row));
  const found = (await query(table.matching, { values })).rows.map((row) => textRow(table, row));
  return new Map(found.map((row) => [identity(table, row), row]));
}

/** The value of the first column of the key. */
export function identity({ key: [position = 0] }: Table, row: TextRow): string {
  return row[position] ?? '';
}

export const isSameRow = (a: TextRow, b: TextRow): boolean => a.every((text, i) => text === b[i]);

/** Counts and hashes rows in the order of their keys. */
export class Digest {
  readonly #hash: Hash = createHash('sha256');
  rows = 0;
  bytes = 0;

  add(rows: TextRow[]): void {
    for (const row of rows) {
      const text = JSON.stringify(row);
      this.#hash.update(`${text}\n`);
      this.bytes += Buffer.byteLength(text);
    }
    this.rows += rows.length;
  }

  /** Adds what another one has counted. */
  append(other: Digest): void {
    this.#hash.update(other.sha256);
    this.rows += other.rows;
    this.bytes += other.bytes;
  }

  /** Of what was added so far. */
  get sha256(): string {
    return this.#hash.copy().digest('hex');
  }
}

export async function digestOf(
  query: QueryExecutor,
  table: Table,
  tenant: string | null,
  onRows: (rows: number) => void = () => {},
): Promise<Digest> {
  const digest = new Digest();
  for await (const rows of readPagesOf(query, table, tenant)) {
    digest.add(rows);
    onRows(rows.length);
  }
  return digest;
}
