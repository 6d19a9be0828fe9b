/** Cuts a stream into arrays of at most `items` items, each cut early once its items weigh `weight` together. */
export async function* batches<T>(
  source: AsyncIterable<T>,
  { items, weight, weightOf }: { items: number; weight: number; weightOf: (item: T) => number },
): AsyncGenerator<T[]> {
  let batch: T[] = [];
  let total = 0;
  for await (const item of source) {
    batch.push(item);
    total += weightOf(item);
    if (batch.length < items && total < weight) continue;
    yield batch;
    batch = [];
    total = 0;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Reads the rows of a keyset-paginated query, a page at a time, as they are consumed.
 *
 * @param readPage reads the page that follows a row, or the first page
 * @param pageSize the number of rows in a full page: a shorter one is the last. By default only an empty page is, for
 *   pages that are also limited by their bytes.
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

/** Maximum size of a batch or page. A single file may have more bytes. */
export const BATCH = { rows: 500, bytes: 4 * 1024 * 1024 } as const;
