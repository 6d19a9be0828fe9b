import { z } from 'zod';
import {
  directoryHeader,
  entriesTruncated,
  fileHeader,
  invalidViewRange,
  lineCut,
  linesTruncated,
  numberedLine,
  tooManyLines,
  viewMissing,
} from '../messages.ts';
import { type MemoryPath, parsePath } from '../path.ts';
import { failure, type MemoryResult, success } from '../result.ts';
import { DIRECTORY_BYTES, formatSize } from '../size.ts';
import type { ListedEntry } from '../store.ts';
import { prefix, splitLines } from '../text.ts';
import { defineCommand, pathField, wrongType } from './command.ts';

const MAX_LINES = 999_999;
/** A line that has to be cut keeps at least this much of itself: a whole character, whatever it is. */
const MIN_PART = 2;
const RANGE_PROBLEM = 'must be an array of two integers';
const rangeEnd = () => z.int({ error: () => RANGE_PROBLEM });

export const view = defineCommand({
  name: 'view',
  description: 'Shows a directory two levels deep with sizes, or a file with line numbers.',
  access: 'read',
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
  async execute({ path: given, view_range: range }, { store, limits: { maxViewChars }, language }) {
    const parsed = parsePath(given);
    if (!parsed.ok) return failure(parsed.refusal);
    const { path } = parsed;
    const found = await store.look(path, maxEntriesShown(path, maxViewChars));
    switch (found.kind) {
      case 'missing':
        return failure(viewMissing(path));
      case 'dir':
        return showDirectory(path, directoryHeader(path, language), found.entries, found.total, maxViewChars);
      case 'file':
        return showFile(path, fileHeader(path, language), found.content, range ?? undefined, maxViewChars);
    }
  },
});

function showFile(
  path: MemoryPath,
  header: string,
  content: string,
  range: [number, number] | undefined,
  maxChars: number,
): MemoryResult {
  const lines = splitLines(content);
  if (lines.length > MAX_LINES) return failure(tooManyLines(path));
  const [givenStart, givenEnd] = range ?? [1, -1];
  const start = Math.max(1, givenStart);
  const end = givenEnd === -1 ? lines.length : Math.min(givenEnd, lines.length);
  if (start > lines.length || end < start) {
    return failure(invalidViewRange(givenStart, givenEnd, lines.length));
  }

  const shown = [header];
  let length = header.length;
  for (let number = start; number <= end; number++) {
    const line = numberedLine(number, lines[number - 1] ?? '');
    length += 1 + line.length;
    if (maxChars > 0 && length > maxChars) return success(truncatedFile(shown, lines, start, maxChars));
    shown.push(line);
  }
  return success(shown.join('\n'));
}

/**
 * The header, as many whole lines from `start` on as leave room for the hint, and the hint. Where not even the
 * first line fits it is cut, so that following the hints always comes to the end of the file.
 */
function truncatedFile(shown: string[], lines: string[], start: number, maxChars: number): string {
  const total = lines.length;
  const result = [...shown];
  let length = result.join('\n').length;
  const last = () => start + result.length - 2;
  while (result.length > 1 && length + 1 + linesTruncated(start, last(), total).length > maxChars) {
    length -= 1 + (result.pop() ?? '').length;
  }
  if (result.length > 1) return [...result, linesTruncated(start, last(), total)].join('\n');

  const line = lines[start - 1] ?? '';
  const longestHint = lineCut(start, line.length, line.length, total).length;
  const room = maxChars - length - numberedLine(start, '').length - longestHint - 2;
  const part = prefix(line, Math.min(line.length, Math.max(MIN_PART, room)));
  const hints: string[] = [];
  if (part.length < line.length) hints.push(lineCut(start, part.length, line.length, total));
  else if (start < total) hints.push(linesTruncated(start, start, total));
  return [...result, numberedLine(start, part), ...hints].join('\n');
}

function showDirectory(
  path: MemoryPath,
  header: string,
  entries: ListedEntry[],
  total: number,
  maxChars: number,
): MemoryResult {
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
  if (lines.length - fixed === total) return success(lines.join('\n'));

  length = lines.join('\n').length;
  while (lines.length > fixed && length + hint(lines.length - fixed) > maxChars) {
    length -= 1 + (lines.pop() ?? '').length;
  }
  return success([...lines, entriesTruncated(lines.length - fixed, total)].join('\n'));
}

function listingLine(entry: ListedEntry): string {
  return entry.kind === 'dir'
    ? `${formatSize(DIRECTORY_BYTES)}\t${entry.path}/`
    : `${formatSize(entry.bytes)}\t${entry.path}`;
}

/** More entries than can be shown need not be read: each takes at least `0B`, a tab, the path, `/`, a name, a newline. */
function maxEntriesShown(path: MemoryPath, maxChars: number): number {
  return maxChars > 0 ? Math.ceil(maxChars / (path.length + 6)) : Number.MAX_SAFE_INTEGER;
}
