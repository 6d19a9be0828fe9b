import type { HTMLAttributes } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface Props extends Pick<HTMLAttributes<HTMLButtonElement>, 'aria-label' | 'class' | 'title'> {
  text: string;
  /** Icon before the text. */
  icon?: IconName;
  disabled?: boolean;
  autofocus?: boolean;
  onClick: () => void;
}

/** Button with a text. */
export function Button({ text, icon, ...attributes }: Props) {
  return (
    <button type="button" {...attributes}>
      {icon && <Icon name={icon} />}
      {icon && ' '}
      {text}
    </button>
  );
}
