import { createHash, type Hash } from 'node:crypto';
import { COORDINATOR_TABLES, REFERENCE_TABLES, TENANT_TABLES } from '../../core/database/citus.ts';
import {
  defineQuery,
  parseQuery,
  type Query,
  type QueryExecutor,
  type Value,
} from '../../core/database/query.ts';

/** Whether a table is migrated. The change log has the numbers of its server's transactions. */
const isMigrated = (name: string) => name.startsWith('public.') && !name.startsWith('public.change_');

/** Tables with a tenant column. `tenants` is first, because other rows refer to it. */
export const TABLES_OF_TENANTS: readonly string[] = TENANT_TABLES.filter(isMigrated);

/** Tables without a tenant column. Excludes the list of applied migrations, which is not data. */
export const SHARED_TABLES: readonly string[] = [...REFERENCE_TABLES, ...COORDINATOR_TABLES].filter(
  isMigrated,
);

/** Assumed row size without the row's texts. */
export const ROW_BYTES = 200;

/** A row in which each column is text, in a format that is the same on every server. */
export type TextRow = (string | null)[];

type Statement<Row> = Query<Record<string, Value>, Row>;

/** Statements that read and write a table's whole rows: one tenant's rows (`$tenant`) or all rows. */
export interface Table {
  readonly name: string;
  /** Columns with their types, and the primary key. Must be equal in both databases. */
  readonly definition: string;
  readonly columns: number;
  /** Positions of the columns that order pages: the primary key without the tenant. */
  readonly key: readonly number[];
  /**
   * Reads a page after a key, or the first page: at most `limit` rows, ending after the row that reaches `bytes` in
   * total.
   */
  readonly firstPage: Statement<SelectedRow>;
  readonly nextPage: Statement<SelectedRow>;
  /** Reads the rows with given values in the key's first column. */
  readonly matching: Statement<SelectedRow>;
  readonly insert: Statement<never>;
}

/** Columns by position: `c0`, `c1`, … */
export type SelectedRow = Record<string, string | null>;

interface Column {
  name: string;
  type: string;
  /** Position in the primary key, from 1. */
  key: number | null;
}

/** Lists a table's columns, except generated columns, which cannot be inserted. */
export const tableColumnsQuery = defineQuery<{ table: string }, Column>(
  'table_columns',
  `
SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type,
  array_position(string_to_array(i.indkey::text, ' '), a.attnum::text) AS key
FROM pg_attribute AS a LEFT JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE a.attrelid = to_regclass($table) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
ORDER BY a.attname
`,
);

/**
 * Reads a table's definition from the database, so that new columns are migrated automatically.
 *
 * @param by whether the statements select one tenant's rows or all rows
 */
export async function describeTable(
  query: QueryExecutor,
  name: string,
  by: 'tenant' | 'all',
): Promise<Table> {
  const columns = (await query(tableColumnsQuery, { table: name })).rows;
  const tenant = name === 'public.tenants' ? 'id' : 'tenant_id';
  return toTable(name, columns, by === 'tenant' ? tenant : undefined);
}

function toTable(name: string, columns: Column[], tenant: string | undefined): Table {
  const keyed = columns
    .map((column, position) => ({ ...column, position }))
    .filter(({ key }) => key !== null)
    .sort((a, b) => Number(a.key) - Number(b.key));
  const key = keyed.length === 1 ? keyed : keyed.filter((column) => column.name !== tenant);
  const label = `${name.replace('public.', '')}${tenant === undefined ? '_of_all' : ''}`;
  const order = key.map((column) => column.name).join(', ');
  const selected = columns.map(({ name: column, type }, i) => `${toText(column, type)} AS c${i}`).join(', ');
  const pages = (conditions: string[]) => `
SELECT ${selected} FROM (
  SELECT *, sum(row_bytes) OVER (ORDER BY ${order}) - row_bytes AS bytes_before FROM (
    SELECT *, ${rowSizeSql(columns)} AS row_bytes FROM ${name} WHERE ${conditions.join(' AND ')}
    ORDER BY ${order} LIMIT $limit::bigint
  ) AS page
) AS page WHERE bytes_before < $bytes::bigint ORDER BY ${order}`;
  const ofTenant = tenant === undefined ? 'true' : `${tenant} = $tenant`;
  const after = key.map(({ type }, i) => fromText(`$after${i}`, type)).join(', ');
  return {
    name,
    definition: columns.map((column) => `${column.name} ${column.type} ${column.key ?? ''}`).join(),
    columns: columns.length,
    key: key.map(({ position }) => position),
    firstPage: parseQuery(`migrate_first_${label}`, pages([ofTenant])),
    nextPage: parseQuery(`migrate_next_${label}`, pages([ofTenant, `(${order}) > (${after})`])),
    matching: parseQuery(
      `migrate_matching_${label}`,
      `SELECT ${selected} FROM ${name} WHERE ${key[0]?.name} = ANY ($values::text[]::${key[0]?.type}[])`,
    ),
    insert: insertInto(name, label, columns, tenant),
  };
}

function insertInto(
  name: string,
  label: string,
  columns: Column[],
  tenant: string | undefined,
): Statement<never> {
  const given = columns.filter((column) => column.name !== tenant);
  const position = new Map(given.map((column, i) => [column, i]));
  const values = columns.map((column) =>
    column.name === tenant ? '$tenant' : fromText(`r.c${position.get(column)}`, column.type),
  );
  const arrays = given.map((column) => `$c${columns.indexOf(column)}::text[]`).join(', ');
  return parseQuery(
    `migrate_insert_${label}`,
    `
INSERT INTO ${name} (${columns.map((column) => column.name).join(', ')})
SELECT ${values.join(', ')} FROM unnest(${arrays}) AS r (${given.map((_, i) => `c${i}`).join(', ')})`,
  );
}

/**
 * SQL text for a column that is independent of server settings, such as the time zone and the formats for dates and
 * bytes.
 */
function toText(column: string, type: string): string {
  switch (type) {
    case 'timestamp with time zone':
      return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
    case 'date':
      return `to_char(${column}, 'YYYY-MM-DD')`;
    case 'bytea':
      return `encode(${column}, 'hex')`;
    default:
      return `${column}::text`;
  }
}

function fromText(value: string, type: string): string {
  return type === 'bytea' ? `decode(${value}::text, 'hex')` : `${value}::text::${type}`;
}

/** SQL value for a row's approximate size in bytes. Measures texts without decompressing them. */
function rowSizeSql(columns: Column[]): string {
  const long = columns.filter(({ type }) => type === 'text' || type === 'bytea');
  return [`${ROW_BYTES}::bigint`, ...long.map(({ name }) => `COALESCE(octet_length(${name}), 0)`)].join(
    ' + ',
  );
}

/** Page limits. Several copies of a page are in memory at the same time. A single row may exceed the byte limit. */
const PAGE = { limit: 1000, bytes: 4 * 1024 * 1024 };

/** Yields pages of rows in key order: a tenant's rows, or all rows if `tenant` is null. */
export async function* readTablePages(
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
      : await query(table.nextPage, { ...page, ...toKeyParams(table, last) });
  return rows.map((row) => textRow(table, row));
}

/** Whether further rows may follow a page. */
function isCut(rows: TextRow[]): boolean {
  if (rows.length === PAGE.limit) return true;
  // At least as large as the size in the database, which ends a page.
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

function toKeyParams(table: Table, row: TextRow): Record<string, Value> {
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

/** Finds rows with the same first key column as the given rows, keyed by this column. */
export async function matchingRows(
  query: QueryExecutor,
  table: Table,
  rows: TextRow[],
): Promise<Map<string, TextRow>> {
  const values = rows.map((row) => identity(table, row));
  const found = (await query(table.matching, { values })).rows.map((row) => textRow(table, row));
  return new Map(found.map((row) => [identity(table, row), row]));
}

/** Returns the first key column's value. */
export function identity({ key: [position = 0] }: Table, row: TextRow): string {
  return row[position] ?? '';
}

export const isSameRow = (a: TextRow, b: TextRow): boolean => a.every((text, i) => text === b[i]);

/** Counts and hashes rows in key order. */
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

  append(other: Digest): void {
    this.#hash.update(other.sha256);
    this.rows += other.rows;
    this.bytes += other.bytes;
  }

  /** SHA-256 of the rows added so far, in hexadecimal. */
  get sha256(): string {
    return this.#hash.copy().digest('hex');
  }
}

export async function computeDigest(
  query: QueryExecutor,
  table: Table,
  tenant: string | null,
  onRows: (rows: number) => void = () => {},
): Promise<Digest> {
  const digest = new Digest();
  for await (const rows of readTablePages(query, table, tenant)) {
    digest.add(rows);
    onRows(rows.length);
  }
  return digest;
}
