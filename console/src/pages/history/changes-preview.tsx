import { useState } from 'preact/hooks';
import { diffOfVersion, getVersion } from '../../api/history.ts';
import type { Changes, FileChange } from '../../api/types.ts';
import { count, withLocalTimes } from '../../text/format.ts';
import { LoadError, Loading } from '../../ui/messages.tsx';
import { Name } from '../../ui/name.tsx';
import { MovedPath, PathName } from '../../ui/path-name.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { hunksBetween, type ShownDiff, shownDiff } from './diff-rows.ts';
import { DiffView } from './diff-view.tsx';

const ROW_HEIGHT = 33;

type Row =
  | { kind: string; file: FileChange }
  | { kind: 'conflict'; message: string }
  | { kind: 'made' | 'removed'; directory: string };

/** Previews the files that a restore or revert would change, and the differences of the selected file. */
export function ChangesPreview({ tenant, changes }: { tenant: string; changes: Changes }) {
  const { files, directories_made, directories_removed, conflicts = [] } = changes;
  const [selected, setSelected] = useState<FileChange | null>(files.length === 1 ? (files[0] ?? null) : null);
  const rows: Row[] = [
    ...conflicts.map(({ message }) => ({ kind: 'conflict' as const, message: withLocalTimes(message) })),
    ...files.map((file) => ({ kind: kindOf(file), file })),
    ...directories_made.map((directory) => ({ kind: 'made' as const, directory })),
    ...directories_removed.map((directory) => ({ kind: 'removed' as const, directory })),
  ];
  return (
    <>
      <p>
        <strong>{rows.length === 0 ? 'Nothing would change.' : `${changes.summary}.`}</strong>
      </p>
      {conflicts.length > 0 && (
        <p class="notice warning">
          Files marked “conflict” have been changed by someone else since. They are left unchanged.
        </p>
      )}
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
      {selected && <FileDifference key={selected.path} tenant={tenant} file={selected} />}
    </>
  );
}

interface RowProps {
  row: Row;
  selected: FileChange | null;
  setSelected: (file: FileChange | null) => void;
}

function PreviewRow({ row, selected, setSelected }: RowProps) {
  const badge = <span class={`change ${row.kind}`}>{row.kind}</span>;
  if (!('file' in row)) {
    return (
      <div class="preview-row">
        {badge}
        {'message' in row ? <Name text={row.message} /> : <PathName path={`${row.directory}/`} />}
      </div>
    );
  }
  const { file } = row;
  const isSelected = file === selected;
  return (
    <button
      type="button"
      class="preview-row"
      aria-pressed={isSelected}
      onClick={() => setSelected(isSelected ? null : file)}
    >
      {badge}
      <MovedPath {...file} />
    </button>
  );
}

/** Shows the differences between the current content of a file and its content after the change. */
function FileDifference({ tenant, file }: { tenant: string; file: FileChange }) {
  const { old_version, version } = file;
  const { data, error, reload } = useLoad(
    async (signal): Promise<ShownDiff[]> => {
      if (old_version !== null && version !== null) {
        const { changes } = await diffOfVersion(tenant, version, signal, old_version);
        return changes.map((change) => ({ ...shownDiff(change), title: null }));
      }
      const { content } = await getVersion(tenant, version ?? old_version ?? '', signal);
      const [old, now] = version === null ? [content ?? '', ''] : ['', content ?? ''];
      const note = content === '' ? 'The content is empty.' : null;
      return [{ title: null, hunks: hunksBetween(old, now), note }];
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

const SAME: ShownDiff = { title: null, hunks: [], note: 'The content stays the same.' };

/** A renamed file may have a new content as well. */
const kindOf = ({ change, content_changed }: FileChange) =>
  change === 'renamed' && content_changed ? 'renamed and modified' : change;

export const hasChanges = ({ files, directories_made, directories_removed }: Changes) =>
  files.length + directories_made.length + directories_removed.length > 0;

/** Describes the size of a change: the number of files, or "directories" if no file changes. */
export const amountOf = (changes: Changes | undefined) =>
  changes?.files.length ? count(changes.files.length, 'file') : 'directories';
