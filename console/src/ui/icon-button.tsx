import type { ButtonHTMLAttributes } from 'preact';
import { Icon, type IconName } from './icon.tsx';

interface Props extends Omit<ButtonHTMLAttributes, 'icon' | 'type'> {
  icon: IconName;
  /** Name for screen readers, and the tooltip without a `title`. */
  label: string;
}

/** Button that shows only an icon. */
export const IconButton = ({ icon, label, class: kind = '', title = label, ...button }: Props) => (
  <button type="button" class={`icon-button ${kind}`} aria-label={label} title={title} {...button}>
    <Icon name={icon} />
  </button>
);
