import { prefix } from '../../core/memory/messages.ts';

/** Number of characters at a file's start in which its description is found. */
export const HEAD_CHARS = 512;
/** Maximum length of a description, in UTF-16 units. */
const MAX_CHARS = 120;

const FRONT_MATTER = /^---\r?\n(.*?)(?:\r?\n---|$)/s;
const DESCRIPTION = /^description:[ \t]*(.+)$/m;
const HEADING = /^#{1,6}[ \t]+([^ \t\r\n].*)$/m;

/**
 * Returns a file's description: `description` in its front matter, or its first heading. Empty if the file has neither.
 *
 * @param head the file's first `HEAD_CHARS` characters
 */
export function fileDescription(head: string): string {
  const frontMatter = FRONT_MATTER.exec(head);
  const [, described = ''] = DESCRIPTION.exec(frontMatter?.[1] ?? '') ?? [];
  const [, heading = ''] = HEADING.exec(head.slice(frontMatter?.[0].length ?? 0)) ?? [];
  const text = withoutQuotes(described.trim()) || withoutClosing(heading.trim());
  const line = text.replace(/[\s\p{C}]+/gu, ' ').trim();
  return line.length > MAX_CHARS ? `${prefix(line, MAX_CHARS - 1)}…` : line;
}

/** Removes the optional number signs at the end of a heading, which follow a space. */
function withoutClosing(heading: string): string {
  let end = heading.length;
  while (heading[end - 1] === '#') end--;
  return /[ \t]/.test(heading[end - 1] ?? ' ') ? heading.slice(0, end) : heading;
}

function withoutQuotes(text: string): string {
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text;
}
