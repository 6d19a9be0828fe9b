import { visible } from '../text/visible.tsx';
import { CopyButton } from './copy.tsx';

interface Props {
  text: string;
  /** What is shown of it, if not all. */
  shown?: string;
  /** Whether its end says more than its start, as with a path. */
  keepsEnd?: boolean;
  /** What it names, in words: with it, there is a button that copies it. */
  copies?: string;
}

/** A name on one line, however long it is: what does not fit is cut, and the whole of it is the tooltip. */
export function Name({ text, shown = text, keepsEnd = false, copies }: Props) {
  return (
    <span class="name">
      <span class={keepsEnd ? 'name-text keeps-end' : 'name-text'} title={text}>
        <bdi>{visible(shown)}</bdi>
      </span>
      {copies && <CopyButton text={text} what={copies} />}
    </span>
  );
}
