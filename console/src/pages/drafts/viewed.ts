import { signal } from '@preact/signals';
import type { DraftChange } from '../../api/drafts-api.ts';

/* Files that the reviewer has viewed. The marks contain draft and version IDs, and no path or content. */

const STORAGE_KEY = 'viewed-files';
/** Maximum number of drafts with marks. The marks on other drafts are discarded, the oldest first. */
const MAX_DRAFTS = 20;

/** Viewed contents by the file's memory ID. */
type Marks = Record<string, string>;

/** Marks for each draft, the latest last. Local storage keeps them, so that a review continues on another day. */
const viewed = signal<Record<string, Marks>>(read());

function read(): Record<string, Marks> {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '{}');
  } catch {
    // The value was not written by this console version.
    return {};
  }
}

function write(next: Record<string, Marks>): void {
  viewed.value = Object.fromEntries(Object.entries(next).slice(-MAX_DRAFTS));
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(viewed.value));
  } catch {
    // The browser's storage is full. The marks then last until the page is closed.
  }
}

/** Identifies a change's content. The content differs if a side has another version. */
const contentKey = ({ draft, original }: DraftChange) => `${draft?.version ?? ''} ${original?.version ?? ''}`;

export const isViewed = (draft: string, change: DraftChange) =>
  viewed.value[draft]?.[change.memory_id] === contentKey(change);

export function markViewed(draft: string, change: DraftChange, isMarked: boolean): void {
  const { [draft]: marks = {}, ...others } = viewed.value;
  const { [change.memory_id]: _, ...rest } = marks;
  write({ ...others, [draft]: isMarked ? { ...rest, [change.memory_id]: contentKey(change) } : rest });
}

/** Removes the marks for a closed draft. */
export function forgetViewed(draft: string): void {
  const { [draft]: _, ...others } = viewed.value;
  write(others);
}
