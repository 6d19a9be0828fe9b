import { signal } from '@preact/signals';
import type { ComponentChildren, Ref } from 'preact';
import { useCallback, useImperativeHandle, useMemo, useRef, useState } from 'preact/hooks';
import type { CodeDiffProps } from '../../ui/code-editor/code-diff.tsx';
import { FindBar, useFind } from '../../ui/find-bar.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { lazy } from '../../ui/lazy.tsx';
import { MovedPath } from '../../ui/path-name.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { useNear } from '../../ui/use-near.ts';
import { diffKind, type ShownDiff } from './diff-lines.ts';

export const CodeDiff = lazy(
  'the text',
  async () => (await import('../../ui/code-editor/code-diff.tsx')).CodeDiff,
);

/** Estimated line height in pixels. */
export const LINE_HEIGHT = 21;

const isWide = matchMedia('(min-width: 1100px)');
/** Layout for all diffs on the page, until the user selects another layout. */
const isSplit = signal(isWide.matches);

const LAYOUTS = [
  ['split', 'Side by side'],
  ['unified', 'Unified'],
] as const;

interface Props {
  files: readonly ShownDiff[];
  /** Description of the compared texts. */
  summary?: ComponentChildren;
  handle?: Ref<DiffViewHandle>;
  /** Content below lines in the new text, and a handler for clicks on line numbers. */
  lineNotes?: Pick<CodeDiffProps, 'notes' | 'onLine'> | undefined;
  /** Whether the page shows several diffs below each other, with one `LayoutChoice`. */
  isPart?: boolean;
}

export interface DiffViewHandle {
  /** Scrolls to a file's title. */
  showFile: (file: number) => void;
}

/** Selects the layout for all diffs on the page. */
export function LayoutChoice() {
  return (
    <Segmented
      label="Layout"
      options={LAYOUTS}
      value={isSplit.value ? 'split' : 'unified'}
      onChange={(layout) => {
        isSplit.value = layout === 'split';
      }}
    />
  );
}

// A `group` instead of a `region`, because the list often fills an existing landmark.
const LIST = { role: 'group', 'aria-label': 'Differences' } as const;
const SCROLLS = { class: 'diff-files', tabIndex: 0 };

/** Shows file differences, side by side or unified. */
export function DiffView({ files, summary, handle, lineNotes, isPart = false }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const [collapsed, setCollapsed] = useState<ReadonlySet<number>>(() => new Set());
  const showFile = (file: number) => list.current?.children[file]?.scrollIntoView({ block: 'start' });
  // A file's first row is its title.
  const starts = useMemo(() => {
    let next = 0;
    return files.map(({ lines }) => {
      const start = next;
      next += lines.length + 1;
      return start;
    });
  }, [files]);
  const fileAt = (row: number) => starts.findLastIndex((start) => start <= row);
  const find = useFind(
    useCallback(() => files.flatMap(rowTexts), [files]),
    (row) => starts.includes(row) && showFile(fileAt(row)),
    // A search covers the lines in all files, so no file stays collapsed.
    () => setCollapsed(new Set()),
  );
  useImperativeHandle(handle ?? null, () => ({ showFile }), []);
  const toggle = (file: number) => {
    const next = new Set(collapsed);
    if (!next.delete(file)) next.add(file);
    setCollapsed(next);
  };
  const match = find.query === '' ? undefined : find.matches[find.at];
  const current =
    match === undefined ? null : { file: fileAt(match), line: match - (starts[fileAt(match)] ?? 0) - 1 };
  return (
    <div ref={find.container} class="diff fills findable">
      <FindBar find={find} label="Find in the differences" />
      <div class="spread bar">
        <div class="cluster muted small spacer">{summary}</div>
        <IconButton icon="search" label="Find in the differences" title="Find (Ctrl+F)" onClick={find.open} />
        {!isPart && <LayoutChoice />}
      </div>
      <div {...LIST} {...(isPart ? {} : SCROLLS)}>
        <ul ref={list}>
          {files.map((file, i) => (
            <FileDifferences
              key={i}
              file={file}
              isOpen={!collapsed.has(i)}
              onToggle={() => toggle(i)}
              query={find.query}
              lineNotes={lineNotes}
              isPart={isPart}
              current={current?.file === i && current.line >= 0 ? current.line : null}
            />
          ))}
        </ul>
      </div>
    </div>
  );
}

const rowTexts = ({ title, lines }: ShownDiff) => [
  `${title?.oldPath ?? ''}\n${title?.path ?? ''}`,
  ...lines.map(({ text }) => text),
];

interface FileProps {
  file: ShownDiff;
  isOpen: boolean;
  onToggle: () => void;
  query: string;
  lineNotes: Props['lineNotes'];
  isPart: boolean;
  /** Line index for the search's current match. */
  current: number | null;
}

function FileDifferences(props: FileProps) {
  const { file, isOpen, onToggle, query, current, lineNotes, isPart } = props;
  const { title, lines, note } = file;
  const { body, isNear, height } = useNear(lines.length * LINE_HEIGHT);
  const path = title?.path ?? title?.oldPath ?? '(redacted)';
  const kind = title && diffKind(title);
  // A part stays, because a comment at its lines may be unfinished.
  const isShown = isPart || isNear || current !== null;
  return (
    <li>
      {title && (
        <button type="button" class="diff-title" aria-expanded={isOpen} onClick={onToggle}>
          <span class={isOpen ? 'muted twist open' : 'muted twist'}>
            <Icon name="chevron" />
          </span>
          <span class={`change ${kind}`}>{kind}</span>
          <MovedPath from={kind === 'renamed' ? title.oldPath : null} path={path} />
        </button>
      )}
      {isOpen && note !== null && <p class="muted small diff-note">{note}</p>}
      <div ref={body} hidden={!isOpen} style={{ minHeight: isShown ? 0 : `${height}px` }}>
        {isOpen && isShown && lines.length > 0 && (
          <CodeDiff
            label={title ? `Differences in ${path}` : 'Differences in the file'}
            lines={lines}
            isSplit={isSplit.value}
            query={query}
            current={current}
            {...lineNotes}
          />
        )}
      </div>
    </li>
  );
}
