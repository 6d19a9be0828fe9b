import { pathText } from '../text/path-text.tsx';
import { revealHidden } from '../text/visible.tsx';
import { CopyButton } from './copy-button.tsx';

interface Props {
  text: string;
  /** The displayed text, if it differs from `text`. */
  shown?: string;
  /** Whether truncation keeps the text's end, as for a path. */
  keepsEnd?: boolean;
  /** Description for a button that copies the text, such as "the path". Without a description, there is no button. */
  copies?: string;
}

/** A name on one line. A long name is truncated, and the tooltip shows the full name. */
export function Name({ text, shown = text, keepsEnd = false, copies }: Props) {
  const isPath = text.startsWith('/');
  return (
    <span class="name">
      <span class={keepsEnd ? 'name-text keeps-end' : 'name-text'} dir={isPath ? 'ltr' : 'auto'} title={text}>
        {isPath ? <bdi dir="ltr">{pathText(shown)}</bdi> : revealHidden(shown)}
      </span>
      {copies && <CopyButton text={text} what={copies} />}
    </span>
  );
}

/** A name that links to the named item. */
export const NameLink = ({ href, ...name }: Props & { href: string }) => (
  <a class="name-link" href={href}>
    <Name {...name} />
  </a>
);
