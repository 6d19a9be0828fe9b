import { setImmediate } from 'node:timers/promises';

/**
 * Maximum time that loops compute before the event loop handles other requests. The slice is a tenth of the time that
 * one request may occupy the event loop.
 */
const SLICE_MS = 10;
/** Number of items to sort in one step. */
const RUN_ITEMS = 2000;

let startedAt = performance.now();

/**
 * Yields items whose number depends on a request or a tenant, and lets the event loop run after each time slice.
 * Awaiting a resolved promise alone does not let the event loop run. All loops share one slice, because they share the
 * thread.
 */
export async function* timeSliced<T>(items: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  for await (const item of items) {
    await pauseAfterSlice();
    yield item;
  }
}

/** Lets the event loop run once if the time slice has ended. */
export function pauseAfterSlice(): Promise<void> | undefined {
  return performance.now() - startedAt < SLICE_MS ? undefined : nextSlice();
}

async function nextSlice(): Promise<void> {
  await setImmediate();
  startedAt = performance.now();
}

/** Work that yields after each step, so that the same code runs in a thread, for a short text, or in time slices. */
export type Steps<T> = Generator<void, T>;

/** Runs all steps, and lets the event loop run after each time slice. */
export async function runInSlices<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    await pauseAfterSlice();
  }
}

/** Runs all steps without a pause. Only for short work, or in a thread. */
export function withoutPause<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Sorts any number of items in time slices. The sort is stable. */
export async function timeSlicedSort<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number = compareValues,
): Promise<T[]> {
  let runs: T[][] = [];
  for await (const run of timeSliced(chunks(items, RUN_ITEMS))) runs.push(run.sort(compare));
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let i = 0; i < runs.length; i += 2)
      merged.push(await collectItems(mergeRuns(runs[i] ?? [], runs[i + 1] ?? [], compare)));
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Compares strings in the default order that `sort` uses. */
function compareValues<T>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function* chunks<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let from = 0; from < items.length; from += size) yield items.slice(from, from + size);
}

async function collectItems<T>(items: Iterable<T>): Promise<T[]> {
  const array: T[] = [];
  for await (const item of timeSliced(items)) array.push(item);
  return array;
}

function* mergeRuns<T>(a: readonly T[], b: readonly T[], compare: (a: T, b: T) => number): Generator<T> {
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) yield (compare(b[j] as T, a[i] as T) < 0 ? b[j++] : a[i++]) as T;
  for (; i < a.length; i++) yield a[i] as T;
  for (; j < b.length; j++) yield b[j] as T;
}
