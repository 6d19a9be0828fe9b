import type { ComponentChildren } from 'preact';
import { MoreButton } from './more-button.tsx';
import { Empty, LoadError, Loading } from './status-messages.tsx';
import type { Loaded } from './use-load.ts';
import type { Pages } from './use-pages.ts';

interface Props<T> {
  of: Pick<Loaded<T>, 'data' | 'error' | 'reload'>;
  /** Noun for the data. */
  what: string;
  children: (data: T) => ComponentChildren;
}

/** Shows loaded data, the load's error, or lines until the data is loaded. */
export function Load<T>({ of: { data, error, reload }, what, children }: Props<T>): ComponentChildren {
  if (error !== undefined) return <LoadError error={error} onRetry={reload} />;
  return data === undefined ? <Loading what={what} /> : children(data);
}

interface PagesProps<T> {
  of: Pages<T, object>;
  /** Noun for the items. */
  what: string;
  /** Title or content in place of an empty list. */
  empty: ComponentChildren;
  /** Label for the button that loads the next page. */
  more: string;
  children: (items: T[]) => ComponentChildren;
}

/** Shows a list's loaded pages, and loads more pages on request. */
export function LoadPages<T>({ of: pages, what, empty, more, children }: PagesProps<T>) {
  const { items, error, isLoading, reload } = pages;
  return (
    <>
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {items === undefined && isLoading && <Loading what={what} />}
      {items?.length === 0 && (typeof empty === 'string' ? <Empty title={empty} /> : empty)}
      {items !== undefined && items.length > 0 && children(items)}
      <MoreButton pages={pages}>{more}</MoreButton>
    </>
  );
}
