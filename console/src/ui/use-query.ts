import { keepPreviousData, type QueryClient, type QueryKey } from '@tanstack/query-core';
import { useLayoutEffect, useMemo, useReducer, useState } from 'preact/hooks';
import { KEPT, queries } from '../api/queries.ts';

interface ObserverClass<Result> {
  new (
    client: QueryClient,
    options: never,
  ): {
    subscribe: (onChange: () => void) => () => void;
    setOptions: (options: never) => void;
    getOptimisticResult: (options: never) => Result;
  };
}

/** Follows a query with TanStack's `QueryObserver` or `InfiniteQueryObserver`. */
export function useQuery<Result>(Observer: ObserverClass<Result>, options: object): Result {
  const wanted = {
    ...queries.defaultQueryOptions(options as { queryKey: QueryKey }),
    _optimisticResults: 'optimistic',
  } as never;
  const [observer] = useState(() => new Observer(queries, wanted));
  const [, render] = useReducer((renders: number) => renders + 1, 0);
  useLayoutEffect(() => observer.subscribe(() => render(undefined)), []);
  useLayoutEffect(() => observer.setOptions(wanted));
  return observer.getOptimisticResult(wanted);
}

let lastId = 0;

/**
 * Returns the options that select a result. While it is loaded, the previous result is shown.
 *
 * @param dependencies with a name, values that JSON can represent
 * @param name name under which the result is kept after the view is closed; undefined keeps nothing
 */
export function useQueryKey(dependencies: readonly unknown[], name: string | undefined) {
  const id = useMemo(() => ++lastId, dependencies);
  const queryKey: QueryKey = name === undefined ? [id] : [KEPT, name, ...dependencies];
  return { queryKey, placeholderData: keepPreviousData, ...(name === undefined && { gcTime: 0 }) };
}
