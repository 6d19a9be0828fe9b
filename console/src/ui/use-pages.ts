import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isAborted } from '../api/api-client.ts';
import { rememberedList, rememberList } from './remembered-lists.ts';
import { type Reload, useReload } from './use-load.ts';

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface Pages<T> {
  items: T[] | undefined;
  error: unknown;
  isLoading: boolean;
  /** Loads the next page; undefined on the last page. */
  more: (() => void) | undefined;
  reload: Reload;
}

interface State<T> {
  items: T[] | undefined;
  next: string | null;
  error: unknown;
  isLoading: boolean;
}

const START = { items: undefined, next: null, error: undefined, isLoading: true };

/**
 * Loads a list page by page, and from the start when `dependencies` change. When `revision` changes, loads as many rows
 * again. After Back, the list has the same rows and scroll position as before.
 */
export function usePages<T>(
  load: (after: string | null, signal: AbortSignal) => Promise<Page<T>>,
  dependencies: readonly unknown[],
  revision?: unknown,
): Pages<T> {
  const [state, setState] = useState<State<T>>(START);
  const { round, reload, endReload } = useReload();
  const controller = useRef<AbortController>(undefined);
  const latestLoad = useRef(load);
  latestLoad.current = load;
  const returned = useRef(rememberedList());
  /** Number of rows to load at least. */
  const wanted = useRef(returned.current?.count ?? 0);
  const list = useMemo(() => ({}), dependencies);
  const loadedList = useRef(list);

  const loadPage = useCallback((after: string | null, previous: T[] | undefined) => {
    controller.current = new AbortController();
    const { signal } = controller.current;
    setState((old) => ({ ...old, isLoading: true }));
    latestLoad.current(after, signal).then(
      ({ items: loaded, next }) => {
        if (signal.aborted) return;
        const items = [...(previous ?? []), ...loaded];
        if (next !== null && items.length < wanted.current) return loadPage(next, items);
        setState({ items, next, error: undefined, isLoading: false });
        endReload();
      },
      (error: unknown) => {
        if (signal.aborted || isAborted(error)) return;
        setState({ items: previous, next: null, error, isLoading: false });
        endReload();
      },
    );
  }, []);
  const { items, next, error, isLoading } = state;
  useLayoutEffect(() => {
    if (loadedList.current !== list) wanted.current = 0;
    loadedList.current = list;
    loadPage(null, undefined);
    return () => controller.current?.abort();
  }, [list, revision, round]);

  useLayoutEffect(() => {
    if (items === undefined) return;
    const { current: before } = returned;
    returned.current = undefined;
    wanted.current = items.length;
    if (before !== undefined) scrollTo(0, before.scroll);
    rememberList(items.length);
  }, [items]);
  useEffect(() => {
    const remember = () => items !== undefined && rememberList(items.length);
    addEventListener('scroll', remember);
    return () => removeEventListener('scroll', remember);
  }, [items]);
  const more = useCallback(() => {
    if (next !== null && !isLoading) loadPage(next, items);
  }, [next, isLoading, items]);
  return {
    items,
    error,
    isLoading,
    more: next === null ? undefined : more,
    reload,
  };
}
