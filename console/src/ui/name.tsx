import { visible } from '../text/visible.tsx';
import { CopyButton } from './copy.tsx';

interface Props {
  text: string;
  /** The displayed text, if it differs from `text`. */
  shown?: string;
  /** Whether truncation keeps the end of the text, as for a path. */
  keepsEnd?: boolean;
  /** Description for a button that copies the text, such as "the path". Without a description, there is no button. */
  copies?: string;
}

/** A name on one line. A long name is truncated, and the tooltip shows the full name. */
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
