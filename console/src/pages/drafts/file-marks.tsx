import type { DraftChange } from '../../api/drafts-api.ts';
import { changeWord } from './draft-texts.ts';
import { type Progress, type Resolution, reviewProgress } from './kept-resolutions.ts';

/** Shows a file's change in one word. */
export function ChangeMark({ change }: { change: DraftChange }) {
  const word = changeWord(change);
  return <span class={change.in_draft === null ? 'change' : `change ${word}`}>{word}</span>;
}

/** Shows a file's resolution, or why the file cannot be merged yet. */
export function ProgressMark(props: { change: DraftChange; resolution: Resolution | undefined }) {
  const progress = reviewProgress(props.change, props.resolution);
  return <span class={`small progress-of ${progress}`}>{PROGRESS[progress](props.resolution)}</span>;
}

const CHOICES = {
  draft: 'takes the draft',
  original: 'keeps the original',
  text: 'takes your text',
};

const PROGRESS: Record<Progress, (resolution: Resolution | undefined) => string> = {
  merges: () => '',
  open: () => 'to resolve',
  marked: () => 'has marks left',
  stale: () => 'changed since',
  resolved: (resolution) => (resolution === undefined ? '' : CHOICES[resolution.choice]),
};
