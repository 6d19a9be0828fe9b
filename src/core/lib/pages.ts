/** A page of a list, and its last row's position; null on the last page. */
export interface Page<Row, Position> {
  rows: Row[];
  next: Position | null;
}

/** Position in a list by time. */
export interface TimePosition {
  time: string;
  id: string;
}

/** Returns the page at the beginning of `rows`, which were read with a limit of `limit + 1`. */
export function cutPage<Row, Position>(
  rows: readonly Row[],
  limit: number,
  toPosition: (last: Row) => Position,
): Page<Row, Position> {
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { rows: rows.slice(0, limit), next: last === undefined ? null : toPosition(last) };
}

/** Splits items into batches with at most `items` items and at most `weight`. A heavier item is in a separate batch. */
export async function* batches<T>(
  source: AsyncIterable<T> | Iterable<T>,
  { items, weight, weigh }: { items: number; weight: number; weigh: (item: T) => number },
): AsyncGenerator<T[]> {
  let batch: T[] = [];
  let total = 0;
  for await (const item of source) {
    const added = weigh(item);
    if (batch.length === items || (batch.length > 0 && total + added > weight)) {
      yield batch;
      batch = [];
      total = 0;
    }
    batch.push(item);
    total += added;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Yields the rows from a keyset-paginated query, and reads each page on demand.
 *
 * @param readPage reads the page after a row, or the first page
 * @param pageSize number of rows in a full page, so that a shorter page is the last. By default, only an empty page is
 *   the last, for pages that are also limited by their bytes.
 */
export async function* readPages<Row>(
  readPage: (last: Row | undefined) => Promise<Row[]>,
  pageSize = 1,
): AsyncGenerator<Row> {
  let last: Row | undefined;
  do {
    const rows = await readPage(last);
    yield* rows;
    last = rows.length < pageSize ? undefined : rows.at(-1);
  } while (last !== undefined);
}

/** Maximum size for a batch or page. A single file may have more bytes. */
export const BATCH = { rows: 500, bytes: 4 * 1024 * 1024 } as const;
