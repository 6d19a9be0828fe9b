import type { QueryFunctionContext } from '@tanstack/query-core';
import type { Lost } from './lost.tsx';

/** Time until a repeated load without a response counts as failed. */
const TIMEOUT_MS = 15_000;

/** Milliseconds until a result is loaded again; a function derives them from the result, and returns false to stop. */
export type Interval<Data> = number | ((data: Data | undefined) => number | false);

/** Returns the options that load a result again while the page is visible, and when the page becomes visible. */
export function pollOptions<Data>(interval: Interval<Data> | undefined) {
  const find = ({ state }: { state: { data: Data | undefined } }) => findInterval(interval, state.data);
  return {
    refetchInterval: find,
    refetchOnWindowFocus: (query: Parameters<typeof find>[0]) => find(query) !== false,
  };
}

const findInterval = <Data>(interval: Interval<Data> | undefined, data: Data | undefined): number | false =>
  typeof interval === 'function' ? interval(data) : (interval ?? false);

/** Returns a load's signal. A repeated load that hangs is aborted, so that the next one can start. */
export function limitTime(
  { client, queryKey, signal }: Pick<QueryFunctionContext, 'client' | 'queryKey' | 'signal'>,
  isPolled: boolean,
): AbortSignal {
  const isRepeated = isPolled && client.getQueryData(queryKey) !== undefined;
  return isRepeated ? AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]) : signal;
}

/** Returns the error to show instead of a result, or the error to show beside a result that is loaded again. */
export function splitError<Data>(
  { data, error, dataUpdatedAt }: { data: Data | undefined; error: unknown; dataUpdatedAt: number },
  interval: Interval<Data> | undefined,
): { error: unknown; lost: Lost | null } {
  if (error === null) return { error: undefined, lost: null };
  if (data === undefined || findInterval(interval, data) === false) return { error, lost: null };
  return { error: undefined, lost: { since: new Date(dataUpdatedAt).toISOString(), error } };
}
