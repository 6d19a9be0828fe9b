import type { ComponentChildren } from 'preact';
import { Icon } from '../ui/icon.tsx';
import type { Section } from './sections.ts';

interface Props {
  label: string;
  class: string;
  sections: Section[];
  /** Returns the content after a section's title. */
  after?: (section: Section) => ComponentChildren;
}

/** A navigation that marks the current page. */
export function Nav({ label, class: name, sections, after }: Props) {
  return (
    <nav class={name} aria-label={label}>
      {sections.map((section) => (
        <a key={section.title} href={section.href} aria-current={section.isCurrent ? 'page' : undefined}>
          <Icon name={section.icon} />
          {section.title}
          {after?.(section)}
        </a>
      ))}
    </nav>
  );
}
