/** Creates a heading's ID as GitHub does, so that a link works on GitHub and on the site. */
export const slugify = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

export interface Section {
  anchor: string;
  /** Heading, after the headings for the sections that contain it. */
  titles: string[];
  text: string;
}

const FENCE = /^\s*(`{3,}|~{3,})/;
const HEADING = /^(#{1,6}) +(.*?)(?: +\{#([^}]+)\})? *$/;

/** Splits a Markdown page at its headings. Text before the first heading, such as front matter, is dropped. */
export function splitIntoSections(markdown: string): Section[] {
  const sections: (Section & { level: number })[] = [];
  const anchors = new Set<string>();
  let fence: string | undefined;
  for (const line of markdown.split('\n')) {
    const mark = FENCE.exec(line)?.[1];
    if (mark !== undefined && fence === undefined) fence = mark;
    else if (mark?.startsWith(fence ?? '') && line.trim() === mark) fence = undefined;
    const [, hashes, heading, id] = (fence === undefined && HEADING.exec(line)) || [];
    if (hashes === undefined || heading === undefined) {
      const section = sections.at(-1);
      if (section !== undefined) section.text += `${line}\n`;
      continue;
    }
    const title = plainText(heading).trim();
    const anchor = id ?? unusedAnchor(slugify(title), anchors);
    anchors.add(anchor);
    const parents = parentTitles(sections, hashes.length);
    sections.push({ level: hashes.length, anchor, titles: [...parents, escapeHtml(title)], text: '' });
  }
  return sections.map(({ anchor, titles, text }) => ({ anchor, titles, text: searchableText(text) }));
}

function parentTitles(sections: readonly (Section & { level: number })[], level: number): string[] {
  const parent = sections.findLast((section) => section.level < level);
  return parent?.titles ?? [];
}

/** Returns the anchor for a repeated heading, numbered as markdown-it-anchor numbers it. */
function unusedAnchor(slug: string, used: ReadonlySet<string>): string {
  let anchor = slug;
  for (let i = 1; used.has(anchor); i++) anchor = `${slug}-${i}`;
  return anchor;
}

/** Removes code marks, emphasis, and link targets. */
const plainText = (markdown: string) =>
  markdown.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '');

/** Removes comments, tags, and symbols, which the tokenizer would join to the words beside them. */
const searchableText = (markdown: string) =>
  plainText(markdown)
    .replaceAll(/<!--.*?-->|<\/?[a-z][^>\n]*>/gs, ' ')
    .replaceAll(/[\p{S}\s]+/gu, ' ');

const escapeHtml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
