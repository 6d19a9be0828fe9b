import { type ComponentChildren, Fragment } from 'preact';
import { useState } from 'preact/hooks';
import type { Changes, FileChange } from '../../api/api-types.ts';
import { getVersion, readVersionDiff } from '../../api/history-api.ts';
import { count, withLocalTimes } from '../../text/format.ts';
import { Name } from '../../ui/name.tsx';
import { MovedPath, PathName } from '../../ui/path-name.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { compareTexts, type ShownDiff, shownDiff } from './diff-lines.ts';
import { Difference, MergedDifference, RevertConflict, type RevertReview } from './revert-conflict.tsx';

const ROW_HEIGHT = 33;
/** Most files that a warning names. */
const MAX_NAMED = 3;

interface Row {
  kind: string;
  /** Identifies a row that can be selected; null for a directory. */
  key: string | null;
  show: () => ComponentChildren;
  /** Shows the change to the selected row's file. */
  open?: () => ComponentChildren;
}

/** Verbs for changes that are not made yet. */
const VERBS: Record<string, string> = {
  added: 'add',
  modified: 'modify',
  deleted: 'delete',
  renamed: 'rename',
  'renamed and modified': 'rename and modify',
  made: 'make',
  removed: 'remove',
};

/** Formats the counts for changes that are not made yet: `2 files will be added, 1 file will be renamed`. */
function plannedText(rows: readonly Row[]): string {
  const parts = Object.keys(VERBS).flatMap((kind) => {
    const n = rows.filter((row) => row.kind === kind).length;
    const isDirectory = kind === 'made' || kind === 'removed';
    const what = isDirectory ? count(n, 'directory', 'directories') : count(n, 'file');
    return n === 0 ? [] : [`${what} will be ${kind}`];
  });
  return parts.join(', ');
}

interface Props {
  tenant: string;
  changes: Changes;
  /** Only for a revert. */
  review: RevertReview | undefined;
  /** Whether the first conflict is selected. */
  opensConflict?: boolean | undefined;
}

/** Previews the files that a restore or revert would change, and the differences in the selected file. */
export function ChangesPreview({ tenant, changes, review, opensConflict = false }: Props) {
  const { files, kept_out, conflicts = [] } = changes;
  const rows = createRows(tenant, changes, review);
  const [selected, setSelected] = useState<string | null>(
    (opensConflict && conflicts.length > 0) || (conflicts.length === 0 && files.length === 1)
      ? (rows[0]?.key ?? null)
      : null,
  );
  const left = conflicts.filter(({ resolution }) => resolution === null);
  const row = rows.find(({ key }) => key !== null && key === selected);
  return (
    <>
      {left.length > 0 && (
        <p class="notice warning">
          <strong>Not reverted: {count(left.length, 'conflict')}.</strong> Others have changed the same lines,
          or the path of the file. Select a conflict to see the difference, and to resolve it.
        </p>
      )}
      {kept_out.length > 0 && (
        <p class="notice warning">
          <strong>{count(kept_out.length, 'file')} will contain a text that is kept out:</strong>{' '}
          <Name
            text={`${kept_out.slice(0, MAX_NAMED).join(', ')}${kept_out.length > MAX_NAMED ? ', …' : ''}`}
          />
        </p>
      )}
      <p>
        <strong>{rows.length === 0 ? 'Nothing will change.' : `${plannedText(rows)}.`}</strong>
      </p>
      {rows.length > 0 && (
        <VirtualList
          class="preview"
          style={{ height: `${rows.length * ROW_HEIGHT + 2}px` }}
          kind="list"
          label="Changes"
          count={rows.length}
          rowHeight={ROW_HEIGHT}
        >
          {(index) => {
            const row = rows[index];
            return row && <PreviewRow row={row} selected={selected} setSelected={setSelected} />;
          }}
        </VirtualList>
      )}
      {row && <Fragment key={row.key}>{row.open?.()}</Fragment>}
    </>
  );
}

function createRows(tenant: string, changes: Changes, review: RevertReview | undefined): Row[] {
  const { files, directories_made, directories_removed, conflicts = [] } = changes;
  const directoryRow = (kind: string) => (directory: string) => ({
    kind,
    key: null,
    show: () => <PathName path={`${directory}/`} />,
  });
  return [
    ...conflicts.map(({ memory_id: id, resolution, message, choices }) => ({
      kind: resolution === null ? 'conflict' : 'resolved',
      key: id && `conflict ${id}`,
      show: () => <Name text={withLocalTimes(message)} />,
      open: () => id && review && <RevertConflict {...{ tenant, memoryId: id, choices, review }} />,
    })),
    ...files.map((file) => ({
      kind: changeKind(file),
      key: `file ${file.memory_id}`,
      show: () => <MovedPath {...file} />,
      open: () =>
        file.merged && review ? (
          <MergedDifference tenant={tenant} memoryId={file.memory_id} review={review} />
        ) : (
          <FileDifference tenant={tenant} file={file} />
        ),
    })),
    ...directories_made.map(directoryRow('made')),
    ...directories_removed.map(directoryRow('removed')),
  ];
}

interface RowProps {
  row: Row;
  selected: string | null;
  setSelected: (key: string | null) => void;
}

function PreviewRow({ row: { kind, key, show }, selected, setSelected }: RowProps) {
  const content = (
    <>
      <span class={`change ${kind}`}>{VERBS[kind] ?? kind}</span>
      {show()}
    </>
  );
  if (key === null) return <div class="preview-row">{content}</div>;
  const isSelected = key === selected;
  return (
    <button
      type="button"
      class="preview-row"
      aria-pressed={isSelected}
      onClick={() => setSelected(isSelected ? null : key)}
    >
      {content}
    </button>
  );
}

/** Shows the differences between a file's current content and its content after the change. */
function FileDifference({ tenant, file: { old_version, version } }: { tenant: string; file: FileChange }) {
  const files = useLoad(
    async (signal): Promise<ShownDiff[]> => {
      if (old_version !== null && version !== null) {
        const { changes } = await readVersionDiff(tenant, version, signal, old_version);
        return changes.length > 0 ? changes.map(shownDiff) : [SAME];
      }
      const { content } = await getVersion(tenant, version ?? old_version ?? '', signal);
      const [old, now] = version === null ? [content ?? '', ''] : ['', content ?? ''];
      const note = content === '' ? 'The content is empty.' : null;
      return [{ title: null, lines: compareTexts(old, now), note }];
    },
    [tenant, old_version, version],
  );
  return <Difference files={files} />;
}

const SAME: ShownDiff = { title: null, lines: [], note: 'The content stays the same.' };

/** A renamed file may have a new content as well. */
const changeKind = ({ change, content_changed }: FileChange) =>
  change === 'renamed' && content_changed ? 'renamed and modified' : change;

export const hasChanges = ({ files, directories_made, directories_removed }: Changes) =>
  files.length + directories_made.length + directories_removed.length > 0;

/** Describes a change's size: the number of files, or "directories" if no file changes. */
export const changeAmount = (changes: Changes | undefined) =>
  changes?.files.length ? count(changes.files.length, 'file') : 'directories';
