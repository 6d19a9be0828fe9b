import type { ComponentChildren } from 'preact';
import { revealHidden } from './visible.tsx';

/** Characters in scripts that are written from right to left. */
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Nko}\p{Script=Syriac}\p{Script=Thaana}]/u;

/**
 * Splits a path into texts that a browser orders independently: runs of left-to-right text, and right-to-left names.
 */
export function pathParts(path: string): { text: string; isRightToLeft: boolean }[] {
  const parts: { text: string; isRightToLeft: boolean }[] = [];
  for (const text of path.split(/(?<=\/)|(?=\/)/)) {
    const isRightToLeft = RIGHT_TO_LEFT.test(text);
    const last = parts.at(-1);
    if (last !== undefined && !last.isRightToLeft && !isRightToLeft) last.text += text;
    else parts.push({ text, isRightToLeft });
  }
  return parts;
}

/**
 * Renders a path from left to right. Without isolation, the browser would show two adjacent right-to-left names in
 * reverse order, which is another file's path.
 */
export function pathText(
  path: string,
  render: (text: string) => ComponentChildren = revealHidden,
): ComponentChildren {
  return pathParts(path).map(({ text, isRightToLeft }) =>
    isRightToLeft ? <bdi dir="ltr">{render(text)}</bdi> : render(text),
  );
}
