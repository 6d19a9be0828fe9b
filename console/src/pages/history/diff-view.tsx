import { signal } from '@preact/signals';
import type { Ref } from 'preact';
import { useCallback, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { CodeDiffProps } from '../../ui/code-editor/code-diff.tsx';
import { FindBar, useFind } from '../../ui/find-bar.tsx';
import { Icon } from '../../ui/icon.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { lazy } from '../../ui/lazy.tsx';
import { MovedPath } from '../../ui/path-name.tsx';
import { Segmented } from '../../ui/segmented.tsx';
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
  summary?: string;
  handle?: Ref<DiffViewHandle>;
  /** Content below lines in the new text, and a handler for clicks on line numbers. */
  lineNotes?: Pick<CodeDiffProps, 'notes' | 'onLine'> | undefined;
}

export interface DiffViewHandle {
  /** Scrolls to a file's title. */
  showFile: (file: number) => void;
}

// A `group` instead of a `region`, because the list often fills an existing landmark.
const SCROLLS = { role: 'group', 'aria-label': 'Differences', tabIndex: 0 } as const;

/** Shows file differences, side by side or unified. */
export function DiffView({ files, summary = '', handle, lineNotes }: Props) {
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
        <span class="muted small spacer">{summary}</span>
        <IconButton icon="search" label="Find in the differences" title="Find (Ctrl+F)" onClick={find.open} />
        <Segmented
          label="Layout"
          options={LAYOUTS}
          value={isSplit.value ? 'split' : 'unified'}
          onChange={(layout) => {
            isSplit.value = layout === 'split';
          }}
        />
      </div>
      <div class="diff-files" {...SCROLLS}>
        <ul ref={list}>
          {files.map((file, i) => (
            <FileDifferences
              key={i}
              file={file}
              isOpen={!collapsed.has(i)}
              onToggle={() => toggle(i)}
              query={find.query}
              lineNotes={lineNotes}
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
  /** Line index for the search's current match. */
  current: number | null;
}

function FileDifferences(props: FileProps) {
  const { file, isOpen, onToggle, query, current, lineNotes } = props;
  const { title, lines, note } = file;
  const { body, isNear, height } = useNear(lines.length * LINE_HEIGHT);
  const path = title?.path ?? title?.oldPath ?? '(redacted)';
  const kind = title && diffKind(title);
  const isShown = isNear || current !== null;
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

/** Distance from the screen, in pixels, at which differences are rendered. */
const MARGIN = '800px';

/** Tells whether an element is near the screen, and its last height. */
function useNear(estimatedHeight: number) {
  const body = useRef<HTMLDivElement>(null);
  const [state, setState] = useState({ isNear: false, height: estimatedHeight });
  useLayoutEffect(() => {
    const { current: element } = body;
    if (element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1);
        if (last !== undefined)
          setState({ isNear: last.isIntersecting, height: last.boundingClientRect.height });
      },
      { root: element.closest('.diff-files'), rootMargin: MARGIN },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { body, ...state };
}
