import { useRef } from 'preact/hooks';
import type { DraftChange } from '../../api/drafts-api.ts';
import { useNear } from '../../ui/use-near.ts';
import { ChangedFile, type FileProps } from './changed-file.tsx';
import type { Resolutions } from './kept-resolutions.ts';
import { isViewed } from './viewed.ts';

/** Limits above which files without a conflict start collapsed: files in the review, and bytes in the file. */
const MAX_OPEN_FILES = 20;
const MAX_OPEN_BYTES = 100_000;

/** Maximum files in a part, whose heads are rendered together. */
const PART = 20;
/** A head's estimated height in pixels. */
const HEAD_HEIGHT = 60;

interface Props extends FileProps {
  ordered: readonly DraftChange[];
  resolutions: Resolutions;
  /** The URL's file, by its memory ID. */
  chosen: string | null;
  /** Whether the user opened or collapsed a file, by the file's memory ID. */
  toggled: ReadonlyMap<string, boolean>;
}

/** Shows the changed files below each other. */
export function FileStack(props: Props) {
  const parts = Array.from({ length: Math.ceil(props.ordered.length / PART) }, (_, i) =>
    props.ordered.slice(i * PART, (i + 1) * PART),
  );
  return (
    <>
      {parts.map((part, i) => (
        <Part key={i} {...props} part={part} isFirst={i === 0} />
      ))}
    </>
  );
}

/** Shows some files when they are near the screen. */
function Part(props: Props & { part: readonly DraftChange[]; isFirst: boolean }) {
  const { part, isFirst, ordered, resolutions, chosen, toggled, ...fileProps } = props;
  const { body, isNear, height } = useNear(part.length * HEAD_HEIGHT);
  const isShown = useRef(isFirst);
  isShown.current ||= isNear || part.some(({ memory_id }) => memory_id === chosen);
  const startsOpen = (change: DraftChange) =>
    change.memory_id === chosen ||
    (!isViewed(fileProps.comments.draft, change) &&
      (change.conflict !== null ||
        (ordered.length <= MAX_OPEN_FILES && sizeInBytes(change) <= MAX_OPEN_BYTES)));
  return (
    <div ref={body} class="stack" style={{ minHeight: isShown.current ? 0 : `${height}px` }}>
      {isShown.current &&
        part.map((change) => (
          <ChangedFile
            key={change.memory_id}
            {...fileProps}
            change={change}
            resolution={resolutions.get(change.memory_id)}
            isOpen={toggled.get(change.memory_id) ?? startsOpen(change)}
          />
        ))}
    </div>
  );
}

const sizeInBytes = ({ draft, original }: DraftChange) =>
  Math.max(draft?.size_bytes ?? 0, original?.size_bytes ?? 0);
