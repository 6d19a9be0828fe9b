import {
  type InfiniteData,
  InfiniteQueryObserver,
  type InfiniteQueryObserverOptions,
  type QueryKey,
} from '@tanstack/query-core';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { rememberedScroll, rememberScroll } from './remembered-scroll.ts';
import { type Reload, useReload } from './use-load.ts';
import { useQuery, useQueryKey } from './use-query.ts';

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface Pages<T, Extra> {
  items: T[] | undefined;
  first: (Page<T> & Extra) | undefined;
  error: unknown;
  isLoading: boolean;
  /** Loads the next page; undefined on the last page. */
  more: (() => void) | undefined;
  reload: Reload;
}

/**
 * Loads a list page by page, and from the start when `dependencies` change. A reload loads as many pages again. After
 * Back, the list has the same scroll position as before.
 *
 * @param load may add facts about the list to a page
 * @param name name under which the list is kept, as for `useLoad`
 */
export function usePages<T, Extra = object>(
  load: (after: string | null, signal: AbortSignal) => Promise<Page<T> & Extra>,
  dependencies: readonly unknown[],
  name?: string,
): Pages<T, Extra> {
  type Loaded = Page<T> & Extra;
  const { data, error, isFetching, hasNextPage, fetchNextPage, refetch } = useQuery(
    InfiniteQueryObserver<Loaded, Error, InfiniteData<Loaded>, QueryKey, string | null>,
    {
      ...useQueryKey(dependencies, name),
      queryFn: ({ pageParam, signal }) => load(pageParam, signal),
      initialPageParam: null,
      getNextPageParam: ({ next }) => next,
    } satisfies InfiniteQueryObserverOptions<Loaded, Error, InfiniteData<Loaded>, QueryKey, string | null>,
  );
  const items = useMemo(() => data?.pages.flatMap((page) => page.items), [data]);
  const more = useCallback(() => {
    if (!isFetching) void fetchNextPage();
  }, [isFetching, data]);
  useRememberedScroll(items !== undefined);
  return {
    items,
    first: data?.pages[0],
    error: error ?? undefined,
    isLoading: isFetching,
    more: hasNextPage && error === null ? more : undefined,
    reload: useReload(refetch),
  };
}

/** Scrolls to the entry's last position when the first rows are shown, and remembers the position from then on. */
function useRememberedScroll(hasItems: boolean): void {
  const returned = useRef(rememberedScroll());
  useLayoutEffect(() => {
    if (!hasItems) return;
    if (returned.current !== undefined) scrollTo(0, returned.current);
    returned.current = undefined;
  }, [hasItems]);
  useEffect(() => {
    if (!hasItems) return;
    addEventListener('scroll', rememberScroll);
    return () => removeEventListener('scroll', rememberScroll);
  }, [hasItems]);
}
