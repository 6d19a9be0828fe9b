import { QueryObserver, type QueryObserverOptions } from '@tanstack/query-core';
import { useCallback, useLayoutEffect, useState } from 'preact/hooks';
import { errorMessage, isAborted } from '../api/api-client.ts';
import type { Lost } from './lost.tsx';
import { type Interval, limitTime, pollOptions, splitError } from './polling.ts';
import { dismissDone } from './toasts.ts';
import { useQuery, useQueryKey } from './use-query.ts';

export interface Loaded<T> {
  /** Result from the last successful load, kept while the next load runs. */
  data: T | undefined;
  error: unknown;
  /** Set while loads at an interval fail. `data` is from the last successful load. */
  lost: Lost | null;
  isLoading: boolean;
  reload: Reload;
}

/** Loads again. Resolves when that load ends, so a dialog can close after its change is shown. */
export type Reload = () => Promise<void>;

/**
 * Loads data now, and again when `dependencies` change. A superseded load is aborted.
 *
 * @param load throws an error whose message is shown to the user
 * @param name name under which the result is kept. The view shows a kept result immediately when it opens again. Each
 *   change loads kept results again. The name and the dependencies, which JSON can represent, identify the result.
 * @param interval loads again at an interval while the page is visible, also after an error
 * @param enabled whether the data is needed yet
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
  name?: string,
  interval?: Interval<T>,
  enabled = true,
): Loaded<T> {
  const result = useQuery(QueryObserver<T>, {
    ...useQueryKey(dependencies, name),
    ...pollOptions(interval),
    queryFn: (context) => load(limitTime(context, interval !== undefined)),
    enabled,
  } satisfies QueryObserverOptions<T>);
  const { error, lost } = splitError(result, interval);
  return {
    data: error === undefined ? result.data : undefined,
    error,
    lost,
    isLoading: result.isFetching,
    reload: useReload(result.refetch),
  };
}

export const useReload = (refetch: () => Promise<unknown>): Reload =>
  useCallback(async () => void (await refetch()), []);

export interface Action {
  isRunning: boolean;
  error: string | null;
  run: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>;
  clear: () => void;
}

/** Runs an action that the user starts. Unmounting the component aborts the action. */
export function useAction(): Action {
  const [state, setState] = useState<{ isRunning: boolean; error: string | null }>(IDLE);
  const [controller] = useState(() => new AbortController());
  useLayoutEffect(() => () => controller.abort(), []);
  const run = useCallback(async (work: (signal: AbortSignal) => Promise<void>) => {
    dismissDone();
    setState({ isRunning: true, error: null });
    try {
      await work(controller.signal);
      setState(IDLE);
    } catch (error) {
      setState({ isRunning: false, error: isAborted(error) ? null : errorMessage(error) });
    }
  }, []);
  return { ...state, run, clear: useCallback(() => setState(IDLE), []) };
}

const IDLE = { isRunning: false, error: null };
