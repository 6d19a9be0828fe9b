import type { ComponentChildren } from 'preact';

export function NavLink(props: { href: string; isCurrent: boolean; children: ComponentChildren }) {
  return (
    <a href={props.href} aria-current={props.isCurrent ? 'page' : undefined}>
      {props.children}
    </a>
  );
}
