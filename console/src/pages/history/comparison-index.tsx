import { useMemo } from 'preact/hooks';
import { formatNumber } from '../../text/format.ts';
import { MovedPath } from '../../ui/path-name.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { type DiffKind, diffKind, type ShownDiff } from './diff-lines.ts';

const KINDS: readonly DiffKind[] = ['added', 'modified', 'renamed', 'deleted'];

export const isKind = (text: string | null): text is DiffKind => KINDS.some((kind) => kind === text);

/** Returns the files with one kind of change, or all files. */
export const withKind = (files: readonly ShownDiff[], kind: DiffKind | null) =>
  kind === null ? [...files] : files.filter(({ title }) => title !== null && diffKind(title) === kind);

interface Props {
  /** All files in the comparison. */
  files: readonly ShownDiff[];
  /** The listed files: all, or the files that match `kind`. */
  shown: readonly ShownDiff[];
  kind: DiffKind | null;
  onKind: (kind: DiffKind | null) => void;
  /** Called with a file's index in `shown`. */
  onSelect: (file: number) => void;
}

/** Lists the files in a comparison, with a filter by the kind of change and the number of files for each kind. */
export function ComparisonIndex({ files, shown, kind, onKind, onSelect }: Props) {
  const counts = useMemo(
    () => Map.groupBy(files, ({ title }) => (title === null ? 'modified' : diffKind(title))),
    [files],
  );
  return (
    <section class="pane" aria-label="Changed files">
      <fieldset class="buttons kinds">
        <legend class="visually-hidden">Kind of change</legend>
        <button type="button" aria-pressed={kind === null} onClick={() => onKind(null)}>
          All {formatNumber(files.length)}
        </button>
        {KINDS.map((each) => {
          const count = counts.get(each)?.length ?? 0;
          return (
            count > 0 && (
              <button
                key={each}
                type="button"
                aria-pressed={kind === each}
                onClick={() => onKind(kind === each ? null : each)}
              >
                {each} {formatNumber(count)}
              </button>
            )
          );
        })}
      </fieldset>
      <VirtualList kind="list" label="Files" count={shown.length} rowHeight={33}>
        {(index) => {
          const title = shown[index]?.title;
          if (!title) return null;
          const { oldPath, path } = title;
          const change = diffKind(title);
          return (
            <button type="button" class="index-row" onClick={() => onSelect(index)}>
              <span class={`change-dot ${change}`} aria-hidden="true" />
              <span class="visually-hidden">{change} </span>
              <MovedPath
                from={change === 'renamed' ? oldPath : null}
                path={path ?? oldPath ?? '(redacted)'}
              />
            </button>
          );
        }}
      </VirtualList>
    </section>
  );
}
