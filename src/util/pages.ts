/**
 * Reads the rows of a keyset-paginated query, a page at a time, as they are consumed.
 *
 * @param readPage reads the page that follows a row, or the first page
 * @param pageSize the number of rows in a full page: a shorter one is the last. By default only an empty page is, for pages that are also
 *   limited by their bytes.
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
