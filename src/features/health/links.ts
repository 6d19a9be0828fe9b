import { posix } from 'node:path';
import { type MemoryPath, parsePath, ROOT } from '../../core/memory/path.ts';

/** Maximum number of links in a file. Further links are ignored. */
const MAX_LINKS = 100;

const CODE = /```[\s\S]*?(?:```|$)|`[^`\n]*`/g;
/** An inline link or a link definition in Markdown. */
const MARKDOWN_LINK = /\]\(<?([^\s<>()]+)|^\[[^\]\r\n\u2028\u2029]+\]: ?<?([^\s<>]+)/gm;
/** A path in a text, without the punctuation after it, and not in a URL. */
const BARE_PATH = /(?<![\p{L}\p{N}_.~-])\/memories\/[^\s"'`<>()[\]{}|*,;:?#]*[^\s"'`<>()[\]{}|*,;:?#.!…]/gu;
/** A URL, or an absolute path outside the memory. */
const ELSEWHERE = /^(?:[a-z][a-z0-9+.-]*:|\/(?!memories\/))/i;

/**
 * Returns the paths in the memory to which a file's text links: targets in Markdown outside code, which may be
 * relative, and paths that start with `/memories/`.
 */
export function findLinks(path: string, text: string): MemoryPath[] {
  const targets = new Set<MemoryPath>();
  const directory = posix.dirname(path);
  const add = (target: string) => {
    const parsed = parsePath(posix.resolve(directory, target));
    if (parsed.ok && parsed.path !== ROOT && targets.size < MAX_LINKS) targets.add(parsed.path);
  };
  for (const [, inline, defined] of text.replace(CODE, '').matchAll(MARKDOWN_LINK)) {
    const [target = ''] = (inline ?? defined ?? '').split(/[?#]/, 1);
    if (target !== '' && !ELSEWHERE.test(target)) add(decodeTarget(target));
    if (targets.size === MAX_LINKS) break;
  }
  for (const [target] of text.matchAll(BARE_PATH)) {
    add(target);
    if (targets.size === MAX_LINKS) break;
  }
  return [...targets];
}

function decodeTarget(target: string): string {
  try {
    return decodeURIComponent(target);
  } catch {
    return target;
  }
}
