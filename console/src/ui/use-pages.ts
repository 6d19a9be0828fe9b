import {
  type InfiniteData,
  InfiniteQueryObserver,
  type InfiniteQueryObserverOptions,
  type QueryKey,
} from '@tanstack/query-core';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Lost } from './lost.tsx';
import { type Interval, limitTime, pollOptions, splitError } from './polling.ts';
import { rememberedScroll, rememberScroll } from './remembered-scroll.ts';
import { type Reload, useReload } from './use-load.ts';
import { useQuery, useQueryKey } from './use-query.ts';

/** A list's page as the API returns it: the items under the list's name, and perhaps facts about the list. */
type Page<Name extends string, Position> = Record<Name, unknown[]> & {
  /** The next page's position; null on the last page. */
  next: Position | null;
};

export interface Pages<Item, First = object> {
  items: Item[] | undefined;
  first: First | undefined;
  error: unknown;
  /** Set while loads at an interval fail. `items` are from the last successful load. */
  lost: Lost | null;
  isLoading: boolean;
  /** Loads the next page; undefined on the last page. */
  more: (() => void) | undefined;
  reload: Reload;
}

/**
 * Loads a list page by page, and from the start when `dependencies` change. A reload loads as many pages again. After
 * Back, the list has the same scroll position as before.
 *
 * @param list the list's name in its pages
 * @param name name under which the list is kept, as for `useLoad`
 * @param interval loads all shown pages again at an interval, as for `useLoad`
 */
export function usePages<Name extends string, Loaded extends Page<Name, Position>, Position = string>(
  list: Name,
  load: (after: Position | null, signal: AbortSignal) => Promise<Loaded>,
  dependencies: readonly unknown[],
  name?: string,
  interval?: Interval<InfiniteData<Loaded>>,
): Pages<Loaded[Name][number], Loaded> {
  const result = useQuery(
    InfiniteQueryObserver<Loaded, Error, InfiniteData<Loaded>, QueryKey, Position | null>,
    {
      ...useQueryKey(dependencies, name),
      ...pollOptions(interval),
      queryFn: (context) =>
        load(context.pageParam as Position | null, limitTime(context, interval !== undefined)),
      initialPageParam: null,
      getNextPageParam: ({ next }) => next,
    } satisfies InfiniteQueryObserverOptions<Loaded, Error, InfiniteData<Loaded>, QueryKey, Position | null>,
  );
  const { data, error, isFetching, hasNextPage, fetchNextPage, refetch } = result;
  const items = useMemo(() => data?.pages.flatMap((page): Loaded[Name][number][] => page[list]), [data]);
  const more = useCallback(() => {
    if (!isFetching) void fetchNextPage();
  }, [isFetching, data]);
  useRememberedScroll(items !== undefined);
  return {
    items,
    first: data?.pages[0],
    ...splitError(result, interval),
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
