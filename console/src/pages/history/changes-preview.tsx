import type { Changes, FileChange } from '../../api/types.ts';
import { count } from '../../text/format.ts';
import { visible } from '../../text/visible.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';

const ROW_HEIGHT = 29;

/** What a restore or revert would change. */
export function ChangesPreview({ changes }: { changes: Changes }) {
  const { files, directories_made, directories_removed, conflicts = [] } = changes;
  const rows: { kind: string; text: string }[] = [
    ...conflicts.map(({ message }) => ({ kind: 'conflict', text: message })),
    ...files.map((file) => ({ kind: kindOf(file), text: pathsOf(file) })),
    ...directories_made.map((path) => ({ kind: 'made', text: `${path}/` })),
    ...directories_removed.map((path) => ({ kind: 'removed', text: `${path}/` })),
  ];
  return (
    <>
      <p>
        <strong>{rows.length === 0 ? 'Nothing would change.' : `${changes.summary}.`}</strong>
      </p>
      {conflicts.length > 0 && (
        <p class="notice warning">
          Others have changed what is marked as conflict since. It is left as it is.
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
          {(index) => (
            <div class="preview-row">
              <span class={`change ${rows[index]?.kind}`}>{rows[index]?.kind}</span>
              <bdi>{visible(rows[index]?.text ?? '')}</bdi>
            </div>
          )}
        </VirtualList>
      )}
    </>
  );
}

/** A file that moves may get another content as well. */
const kindOf = ({ change, content_changed }: FileChange) =>
  change === 'renamed' && content_changed ? 'renamed and modified' : change;

const pathsOf = ({ from, path }: FileChange) => (from === null ? path : `${from} → ${path}`);

export const hasChanges = ({ files, directories_made, directories_removed }: Changes) =>
  files.length + directories_made.length + directories_removed.length > 0;

/** How much there is to change: files, or only directories. */
export const amountOf = (changes: Changes | undefined) =>
  changes?.files.length ? count(changes.files.length, 'file') : 'directories';
