import { Button } from './button.tsx';
import type { Pages } from './use-pages.ts';

interface Props {
  pages: Pick<Pages<unknown, unknown>, 'more' | 'isLoading'>;
  children: string;
}

/** Loads a list's next page; hidden on the last page. */
export const MoreButton = ({ pages: { more, isLoading }, children }: Props) =>
  more === undefined ? null : <Button text={children} class="more" onClick={more} disabled={isLoading} />;
