import { z } from 'zod';
import type { ListedEntry, LookupResult } from '../memory-store.ts';
import {
  directoryHeader,
  entriesTruncated,
  fileHeader,
  invalidPath,
  invalidViewRange,
  lineCut,
  linesTruncated,
  tooManyLines,
  viewMissing,
} from '../messages.ts';
import { maxLinesShown, showLines } from '../numbered-lines.ts';
import { type MemoryPath, parsePath } from '../path.ts';
import { failure, type MemoryResult, success } from '../result.ts';
import { countLines, linesFrom } from '../text-changes.ts';
import { defineCommand, pathField, wrongType } from './memory-command.ts';

/** Displayed directory size: the size of a POSIX directory entry. */
const DIRECTORY_BYTES = 4096;

const MAX_LINES = 999_999;
const RANGE_PROBLEM = 'must be an array of two integers';
const rangeEnd = () => z.int({ error: () => RANGE_PROBLEM });

export const view = defineCommand({
  name: 'view',
  description: 'Shows a directory two levels deep with sizes, or a file with line numbers.',
  access: 'read',
  definition: {
    use: 'Shows a directory or a file. A directory is listed up to 2 levels deep, one entry per line: its size, a tab, and its path, which ends in / for a directory. Hidden items and node_modules are left out. A file is shown with line numbers, starting at 1; `view_range` selects lines of it. A long result is cut at the end of a line, and its last line says how to read the rest.',
    fields: { view_range: 'the first and last line to show, such as [11, 20]. -1 as the last is the end.' },
  },
  schema: z.object({
    command: z.literal('view'),
    path: pathField('The file or directory to show.', '/memories'),
    view_range: z
      .tuple([rangeEnd(), rangeEnd()], { error: wrongType(RANGE_PROBLEM) })
      .nullish()
      .meta({
        description:
          'First and last line to show, 1-based and inclusive; -1 as the last means the end of the file. Ignored for a directory.',
        examples: [[1, 10]],
      }),
  }),
  async run(
    { path: given, view_range: range },
    { store, limits: { maxViewChars }, language, describeLines },
  ) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(invalidPath(parsed.problem));
    const { path } = parsed;
    const found = await store.lookup(path, maxEntriesShown(path, maxViewChars));
    switch (found.kind) {
      case 'missing':
        return failure(viewMissing(path));
      case 'dir':
        return showDirectory(path, directoryHeader(path, language), found, maxViewChars);
      case 'file': {
        const { content } = found;
        const shown = showFile(path, fileHeader(path, language), content, range ?? undefined, maxViewChars);
        if (describeLines === undefined || shown.lines === undefined) return shown;
        const block = await describeLines({ path, content, ...shown.lines });
        return success(`${shown.content}\n${block}`);
      }
    }
  },
});

/** Result with the first and last line shown; undefined for an error. */
export type ShownFile = MemoryResult & { lines?: { first: number; last: number } };

/** Shows a file with line numbers. @param maxChars 0 means no limit */
export function showFile(
  path: MemoryPath,
  header: string,
  content: string,
  range: [number, number] | undefined,
  maxChars: number,
): ShownFile {
  const total = countLines(content);
  if (total > MAX_LINES) return failure(tooManyLines(path));
  const [givenStart, givenEnd] = range ?? [1, -1];
  const start = Math.max(1, givenStart);
  const end = givenEnd === -1 ? total : Math.min(givenEnd, total);
  if (start > total || end < start) return failure(invalidViewRange(givenStart, givenEnd, total));

  const maxLines = Math.min(end - start + 1, maxLinesShown(maxChars));
  const lines = linesFrom(content, start, maxLines, maxChars > 0 ? maxChars : content.length);
  const show = {
    header,
    lines,
    start,
    end,
    hasMore: start < total,
    truncated: (last: number) => linesTruncated(start, last, total),
    cut: (shown: number, length: number) => lineCut(start, shown, length, total),
  };
  const { text, last } = showLines(show, maxChars);
  return { content: text, isError: false, lines: { first: start, last } };
}

function showDirectory(
  path: MemoryPath,
  header: string,
  { entries, total, notes = [] }: Extract<LookupResult, { kind: 'dir' }>,
  maxViewChars: number,
): MemoryResult {
  const addNotes = (lines: string[]) => success([...lines, ...notes].join('\n'));
  const maxChars = maxViewChars === 0 ? 0 : Math.max(1, maxViewChars - sumCharacters(notes));
  const lines = [header, `${formatSize(DIRECTORY_BYTES)}\t${path}`];
  const fixed = lines.length;
  let length = lines.join('\n').length;
  const hint = (count: number) => 1 + entriesTruncated(count, total).length;
  for (const entry of entries) {
    const line = listingLine(entry);
    length += 1 + line.length;
    if (maxChars > 0 && length > maxChars) break;
    lines.push(line);
  }
  if (lines.length - fixed === total) return addNotes(lines);

  length = lines.join('\n').length;
  while (lines.length > fixed && length + hint(lines.length - fixed) > maxChars) {
    length -= 1 + (lines.pop() ?? '').length;
  }
  return addNotes([...lines, entriesTruncated(lines.length - fixed, total)]);
}

/** Counts the characters in lines, each with a preceding newline. */
function sumCharacters(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + 1 + line.length, 0);
}

function listingLine(entry: ListedEntry): string {
  return entry.kind === 'dir'
    ? `${formatSize(DIRECTORY_BYTES)}\t${entry.path}/`
    : `${formatSize(entry.bytes)}\t${entry.path}`;
}

/**
 * Returns an upper bound for the entries that fit: each takes at least `0B`, a tab, the path, `/`, a name, and a
 * newline.
 */
export function maxEntriesShown(path: MemoryPath, maxChars: number): number {
  return maxChars > 0 ? Math.ceil(maxChars / (path.length + 6)) : Number.MAX_SAFE_INTEGER;
}

const UNITS = ['K', 'M', 'G'] as const;

/**
 * Formats a size in bytes for a directory listing. Below 1,024, it is `{n}B`. Otherwise it has one decimal, rounded
 * half up, and a unit that keeps the number below 1024.0 (`1.0M`, never `1024.0K`). Source: contract, section 2.
 */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  let unitBytes = 1024;
  let unit = 0;
  // Integer tenths avoid floating-point values just below a half.
  const tenths = () => Math.floor((bytes * 20 + unitBytes) / (unitBytes * 2));
  while (tenths() >= 10240 && unit < UNITS.length - 1) {
    unitBytes *= 1024;
    unit++;
  }
  return `${Math.floor(tenths() / 10)}.${tenths() % 10}${UNITS[unit]}`;
}
