import { signal } from '@preact/signals';
import type { DraftChange } from '../../api/drafts-api.ts';

/* Files that the reviewer has viewed. The marks have IDs of drafts and versions, and no path or content. */

const STORAGE_KEY = 'viewed-files';
/** Maximum number of drafts with marks. The marks of other drafts are discarded, the oldest first. */
const MAX_DRAFTS = 20;

/** Viewed contents by memory ID of the file. */
type Marks = Record<string, string>;

/** Marks of each draft, the latest last. Local storage keeps them, so that a review continues on another day. */
const viewed = signal<Record<string, Marks>>(read());

function read(): Record<string, Marks> {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '{}');
  } catch {
    // The value was not written by this version of the console.
    return {};
  }
}

function write(next: Record<string, Marks>): void {
  viewed.value = Object.fromEntries(Object.entries(next).slice(-MAX_DRAFTS));
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(viewed.value));
  } catch {
    // The storage of the browser is full. The marks then last until the page is closed.
  }
}

/** Identifies the content of a change. Another version of a side is another content. */
const contentOf = ({ draft, original }: DraftChange) => `${draft?.version ?? ''} ${original?.version ?? ''}`;

export const isViewed = (draft: string, change: DraftChange) =>
  viewed.value[draft]?.[change.memory_id] === contentOf(change);

export function markViewed(draft: string, change: DraftChange, isMarked: boolean): void {
  const { [draft]: marks = {}, ...others } = viewed.value;
  const { [change.memory_id]: _, ...rest } = marks;
  write({ ...others, [draft]: isMarked ? { ...rest, [change.memory_id]: contentOf(change) } : rest });
}

/** Removes the marks of a draft that is closed. */
export function forgetViewed(draft: string): void {
  const { [draft]: _, ...others } = viewed.value;
  write(others);
}
