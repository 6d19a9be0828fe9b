import type { ComponentChildren } from 'preact';
import type { Pages } from './use-pages.ts';

interface Props {
  pages: Pick<Pages<unknown, unknown>, 'more' | 'isLoading'>;
  children: ComponentChildren;
}

/** Loads a list's next page; hidden on the last page. */
export const MoreButton = ({ pages: { more, isLoading }, children }: Props) =>
  more === undefined ? null : (
    <button type="button" class="more" onClick={more} disabled={isLoading}>
      {children}
    </button>
  );
