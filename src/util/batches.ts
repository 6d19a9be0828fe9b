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
