import { useState } from 'preact/hooks';
import type { Changes, Conflict, FileChange } from '../../api/api-types.ts';
import { getVersion, readVersionDiff } from '../../api/history-api.ts';
import { count, withLocalTimes } from '../../text/format.ts';
import { Name } from '../../ui/name.tsx';
import { MovedPath, PathName } from '../../ui/path-name.tsx';
import { LoadError, Loading } from '../../ui/status-messages.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { compareTexts, type ShownDiff, shownDiff } from './diff-lines.ts';
import { DiffView } from './diff-view.tsx';
import { MergedDifference, RevertConflict } from './revert-conflict.tsx';
import type { RevertReview } from './revert-review.ts';

const ROW_HEIGHT = 33;
/** Maximum number of files that a warning names. */
const MAX_NAMED = 3;

type Row =
  | { kind: string; file: FileChange }
  | { kind: 'conflict' | 'resolved'; conflict: Conflict }
  | { kind: 'made' | 'removed'; directory: string };

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
function plannedText({ files, directories_made, directories_removed }: Changes): string {
  const kinds = files.map(changeKind);
  const plannedPart = (n: number, what: string, change: string) =>
    n === 0 ? [] : [`${what} will be ${change}`];
  return [
    ...Object.keys(VERBS).flatMap((kind) => {
      const n = kinds.filter((each) => each === kind).length;
      return plannedPart(n, count(n, 'file'), kind);
    }),
    ...(
      [
        ['made', directories_made],
        ['removed', directories_removed],
      ] as const
    ).flatMap(([change, { length }]) =>
      plannedPart(length, count(length, 'directory', 'directories'), change),
    ),
  ].join(', ');
}

interface Props {
  tenant: string;
  changes: Changes;
  /** Only for a revert. */
  review?: RevertReview;
  /** Whether the first conflict is selected. */
  opensConflict?: boolean | undefined;
}

/** Previews the files that a restore or revert would change, and the differences in the selected file. */
export function ChangesPreview({ tenant, changes, review, opensConflict = false }: Props) {
  const { files, directories_made, directories_removed, kept_out, conflicts = [] } = changes;
  const [only] = files;
  const [selected, setSelected] = useState<string | null>(
    opensConflict && conflicts[0] !== undefined
      ? rowKey({ kind: 'conflict', conflict: conflicts[0] })
      : files.length === 1 && only !== undefined
        ? rowKey({ file: only })
        : null,
  );
  const left = conflicts.filter(({ resolution }) => resolution === null);
  const rows: Row[] = [
    ...conflicts.map((conflict) => ({
      kind: conflict.resolution === null ? ('conflict' as const) : ('resolved' as const),
      conflict,
    })),
    ...files.map((file) => ({ kind: changeKind(file), file })),
    ...directories_made.map((directory) => ({ kind: 'made' as const, directory })),
    ...directories_removed.map((directory) => ({ kind: 'removed' as const, directory })),
  ];
  const row = rows.find((each) => rowKey(each) === selected);
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
        <strong>{rows.length === 0 ? 'Nothing will change.' : `${plannedText(changes)}.`}</strong>
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
      {row && <SelectedDifference key={selected} tenant={tenant} row={row} review={review} />}
    </>
  );
}

/** Identifies a row that can be selected; null for a directory. */
function rowKey(row: Row | { file: FileChange }): string | null {
  if ('file' in row) return `file ${row.file.memory_id}`;
  return 'conflict' in row && row.conflict.memory_id !== null ? `conflict ${row.conflict.memory_id}` : null;
}

function SelectedDifference({
  tenant,
  row,
  review,
}: {
  tenant: string;
  row: Row;
  review: RevertReview | undefined;
}) {
  if ('file' in row) {
    const { merged, memory_id } = row.file;
    if (merged && review) return <MergedDifference tenant={tenant} memoryId={memory_id} review={review} />;
    return <FileDifference tenant={tenant} file={row.file} />;
  }
  if (!('conflict' in row) || row.conflict.memory_id === null || review === undefined) return null;
  const { memory_id, choices } = row.conflict;
  return <RevertConflict tenant={tenant} memoryId={memory_id} choices={choices} review={review} />;
}

interface RowProps {
  row: Row;
  selected: string | null;
  setSelected: (key: string | null) => void;
}

function PreviewRow({ row, selected, setSelected }: RowProps) {
  const badge = <span class={`change ${row.kind}`}>{VERBS[row.kind] ?? row.kind}</span>;
  const text =
    'file' in row ? (
      <MovedPath {...row.file} />
    ) : 'conflict' in row ? (
      <Name text={withLocalTimes(row.conflict.message)} />
    ) : (
      <PathName path={`${row.directory}/`} />
    );
  const key = rowKey(row);
  if (key === null) {
    return (
      <div class="preview-row">
        {badge}
        {text}
      </div>
    );
  }
  const isSelected = key === selected;
  return (
    <button
      type="button"
      class="preview-row"
      aria-pressed={isSelected}
      onClick={() => setSelected(isSelected ? null : key)}
    >
      {badge}
      {text}
    </button>
  );
}

/** Shows the differences between a file's current content and its content after the change. */
function FileDifference({ tenant, file }: { tenant: string; file: FileChange }) {
  const { old_version, version } = file;
  const { data, error, reload } = useLoad(
    async (signal): Promise<ShownDiff[]> => {
      if (old_version !== null && version !== null) {
        const { changes } = await readVersionDiff(tenant, version, signal, old_version);
        return changes.map((change) => ({ ...shownDiff(change), title: null }));
      }
      const { content } = await getVersion(tenant, version ?? old_version ?? '', signal);
      const [old, now] = version === null ? [content ?? '', ''] : ['', content ?? ''];
      const note = content === '' ? 'The content is empty.' : null;
      return [{ title: null, lines: compareTexts(old, now), note }];
    },
    [tenant, old_version, version],
  );
  return (
    <section class="preview-difference" aria-label="Difference">
      {error !== undefined && <LoadError error={error} onRetry={reload} />}
      {data === undefined && error === undefined && <Loading what="the difference" />}
      {data && <DiffView files={data.length > 0 ? data : [SAME]} />}
    </section>
  );
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
