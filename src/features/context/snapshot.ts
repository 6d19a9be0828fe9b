import { compareCodePoints } from '../../core/lib/text-forms.ts';
import { formatSize, showFile } from '../../core/memory/commands/view.ts';
import { fileHeader, numberedLine } from '../../core/memory/messages.ts';
import { countLines } from '../../core/memory/text-changes.ts';
import { fileDescription } from './description.ts';
import { type ContextFile, MAX_CONSIDERED } from './read-files.ts';

/** The files in all memories that a caller sees. */
export interface SeenFiles {
  files: readonly ContextFile[];
  /** Number of visible files, which may exceed the number in `files`. */
  total: number;
  /** Whether a memory has more files than an index considers. */
  hasMore: boolean;
  /** Notes on mounts that are unavailable. */
  notes: readonly string[];
}

export interface Snapshot {
  text: string;
  /** Pinned files whose contents the text has. */
  shown: ContextFile[];
  /** Files that the text only lists. */
  listed: ContextFile[];
}

/** Room for the notes on files that are left out, in UTF-16 units. */
const NOTES_CHARS = 400;

const LIST_HEADER =
  "Here're the files in /memories that are not shown in full, with size, path, day of the last change, and description, the latest change last:";
const CHANGED_HEADER = 'These files are new or changed:';
const GONE_HEADER = 'These files were deleted or renamed:';
const NO_FILES = 'There are no files in /memories.';

const pinnedTooLong = (count: number) =>
  `[Truncated: ${count} pinned ${count === 1 ? 'file is' : 'files are'} too long to show here, and listed first. View ${count === 1 ? 'it' : 'them'} to read the content.]`;
const filesLeftOut = (listed: number, total: number) =>
  `[Truncated: listing ${listed} of ${total} files. View a directory, or use memory_search, to find the others.]`;
const FILES_NOT_CONSIDERED = `[Truncated: only the first ${MAX_CONSIDERED} files by path are considered. View a directory, or use memory_search, to find the others.]`;

const inTags = (tag: string, blocks: readonly string[]) => `<${tag}>\n${blocks.join('\n\n')}\n</${tag}>`;

/**
 * Composes a snapshot: the pinned files with their contents, then the index, each with the latest change last, so that
 * the beginning changes rarely. The same files give the same text.
 *
 * @param maxChars maximum length in UTF-16 units. Pinned files come first, then the files that changed last.
 */
export function composeSnapshot(seen: SeenFiles, maxChars: number): Snapshot {
  const { total, hasMore, notes } = seen;
  const files = seen.files.toSorted(byLastChange);
  const fixed = NOTES_CHARS + LIST_HEADER.length + notes.join('\n').length;
  let room = maxChars - fixed;
  const shown: ContextFile[] = [];
  const views: string[] = [];
  const tooLong: ContextFile[] = [];
  for (const file of files.filter(({ isPinned }) => isPinned)) {
    const view = viewWithin(file, room - 2);
    if (view === undefined) tooLong.push(file);
    else {
      room -= view.length + 2;
      shown.push(file);
      views.push(view);
    }
  }
  const others = files.filter(({ isPinned }) => !isPinned);
  const lines = new Map<ContextFile, string>();
  for (const file of [...tooLong, ...others.toReversed()]) {
    const line = listLine(file);
    if (line.length + 1 > room) break;
    room -= line.length + 1;
    lines.set(file, line);
  }
  const listed = [...tooLong, ...others].filter((file) => lines.has(file));
  const hidden = total - shown.length - listed.length;
  const blocks = [...views];
  if (listed.length > 0) blocks.push([LIST_HEADER, ...listed.map((file) => lines.get(file))].join('\n'));
  if (total === 0) blocks.push(NO_FILES);
  const remarks = [
    ...(tooLong.length > 0 ? [pinnedTooLong(tooLong.length)] : []),
    ...(hidden > 0 ? [filesLeftOut(listed.length, total - shown.length)] : []),
    ...(hasMore ? [FILES_NOT_CONSIDERED] : []),
    ...notes,
  ];
  if (remarks.length > 0) blocks.push(remarks.join('\n'));
  return { text: inTags('memory_snapshot', blocks), shown, listed };
}

/**
 * Composes the changes since a snapshot: new contents of pinned files, new and changed files, and deleted paths.
 *
 * @param changed files in the current snapshot that changed
 */
export function composeChanges(
  changed: Pick<Snapshot, 'shown' | 'listed'>,
  gone: readonly string[],
  notes: readonly string[],
): string {
  const blocks = changed.shown.map(viewText);
  if (changed.listed.length > 0) blocks.push([CHANGED_HEADER, ...changed.listed.map(listLine)].join('\n'));
  if (gone.length > 0) blocks.push([GONE_HEADER, ...gone].join('\n'));
  if (notes.length > 0) blocks.push(notes.join('\n'));
  return inTags('memory_changes', blocks);
}

/** Returns a file's view if the content was read and the view fits. A view that cannot fit is not composed. */
function viewWithin(file: ContextFile, maxChars: number): string | undefined {
  const { head, isWhole } = file;
  if (!isWhole || head.length > maxChars) return undefined;
  if (head.length + countLines(head) * numberedLine(1, '').length > maxChars) return undefined;
  const view = viewText(file);
  return view.length > maxChars ? undefined : view;
}

/** Shows a whole file as a view does. The line numbers keep a content from ending the snapshot early. */
function viewText({ path, head }: ContextFile): string {
  return showFile(path, fileHeader(path, 'en'), head, undefined, 0).content;
}

function listLine({ path, bytes, changedAt, head }: ContextFile): string {
  const description = fileDescription(head);
  return [formatSize(bytes), path, changedAt.slice(0, 10), ...(description === '' ? [] : [description])].join(
    '\t',
  );
}

/** Orders files by their last change. Files in one change have the same time. */
function byLastChange(one: ContextFile, other: ContextFile): number {
  if (one.changedAt !== other.changedAt) return one.changedAt < other.changedAt ? -1 : 1;
  return compareCodePoints(one.path, other.path);
}
