import { signal } from '@preact/signals';
import { diffWordsWithSpace } from 'diff';
import type { Ref } from 'preact';
import { useCallback, useImperativeHandle, useMemo, useRef, useState } from 'preact/hooks';
import { revealHidden } from '../../text/visible.tsx';
import { FindBar, markOccurrences, useFind, useFindKey } from '../../ui/find-bar.tsx';
import { Icon } from '../../ui/icon.tsx';
import { MovedPath } from '../../ui/path-name.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { VirtualList, type VirtualListHandle } from '../../ui/virtual-list.tsx';
import { type DiffRow, diffKind, diffRows, rowTexts, type ShownDiff, type Side } from './diff-rows.ts';

const LINE_HEIGHT = 21;
/** Maximum total length for two lines whose differing words are highlighted. Comparing longer lines is slow. */
const MAX_COMPARED = 2000;

const isWide = matchMedia('(min-width: 1100px)');
/** Layout for all diffs on the page, until the user selects another layout. */
const isSplit = signal(isWide.matches);

const LAYOUTS = [
  ['split', 'Side by side'],
  ['unified', 'Unified'],
] as const;

interface Props {
  files: ShownDiff[];
  /** Description of the compared texts. */
  summary?: string;
  handle?: Ref<DiffViewHandle>;
}

export interface DiffViewHandle {
  /** Scrolls to a file's title. */
  showFile: (file: number) => void;
}

/** Shows file differences, side by side or unified. */
export function DiffView({ files, summary = '', handle }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualListHandle>(null);
  const [collapsed, setCollapsed] = useState<ReadonlySet<number>>(() => new Set());
  const split = isSplit.value;
  const rows = useMemo(
    () => diffRows(files, split, (file) => collapsed.has(file)),
    [files, split, collapsed],
  );
  const find = useFind(
    useCallback(() => rowTexts(rows, files), [rows, files]),
    (index) => list.current?.scrollTo(index, 'center'),
  );
  const openFind = () => {
    // A search covers the lines in all files, so no file stays collapsed.
    setCollapsed(new Set());
    find.open();
  };
  useFindKey(container, { ...find, open: openFind });
  const current = find.matches[find.at];
  useImperativeHandle(
    handle ?? null,
    () => ({
      showFile: (file) => {
        const index = rows.findIndex((row) => row.kind === 'title' && row.file === file);
        if (index !== -1) list.current?.scrollTo(index, 'start');
      },
    }),
    [rows],
  );
  const toggle = (file: number) => {
    const next = new Set(collapsed);
    if (!next.delete(file)) next.add(file);
    setCollapsed(next);
  };
  return (
    <div ref={container} class="diff findable">
      <FindBar find={find} label="Find in the differences" />
      <div class="diff-head">
        <span class="muted small spacer">{summary}</span>
        <button type="button" class="icon-button" title="Find (Ctrl+F)" onClick={openFind}>
          <Icon name="search" />
          <span class="visually-hidden">Find in the differences</span>
        </button>
        <Segmented
          label="Layout"
          options={LAYOUTS}
          value={split ? 'split' : 'unified'}
          onChange={(layout) => {
            isSplit.value = layout === 'split';
          }}
        />
      </div>
      <VirtualList
        handle={list}
        class={split ? 'diff-rows code split' : 'diff-rows code unified'}
        kind="list"
        label="Differences"
        count={rows.length}
        rowHeight={LINE_HEIGHT}
      >
        {(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          if (row.kind !== 'title')
            return <Row row={row} isSplit={split} query={find.query} isCurrent={index === current} />;
          return (
            <Title
              file={files[row.file]}
              isOpen={!collapsed.has(row.file)}
              onToggle={() => toggle(row.file)}
            />
          );
        }}
      </VirtualList>
    </div>
  );
}

interface TitleProps {
  file: ShownDiff | undefined;
  isOpen: boolean;
  onToggle: () => void;
}

function Title({ file, isOpen, onToggle }: TitleProps) {
  if (!file?.title) return null;
  const { oldPath, path } = file.title;
  const kind = diffKind(file.title);
  return (
    <div>
      <button type="button" class="diff-title" aria-expanded={isOpen} onClick={onToggle}>
        <span class={isOpen ? 'twist open' : 'twist'}>
          <Icon name="chevron" />
        </span>
        <span class={`change ${kind}`}>{kind}</span>
        <MovedPath from={kind === 'renamed' ? oldPath : null} path={path ?? oldPath ?? '(redacted)'} />
      </button>
    </div>
  );
}

interface DiffRowProps {
  row: Exclude<DiffRow, { kind: 'title' }>;
  isSplit: boolean;
  /** The searched text, or an empty text. */
  query: string;
  /** Whether the row is the search's current match. */
  isCurrent: boolean;
}

function Row({ row, isSplit, query, isCurrent }: DiffRowProps) {
  if (row.kind !== 'line') {
    return <div class={`diff-${row.kind}`}>{row.text}</div>;
  }
  const { old, now } = row;
  const state = isCurrent ? ' current' : '';
  const isSame = old !== null && now !== null && old.text === now.text;
  if (!isSplit) {
    const side = now ?? old;
    const kind = isSame ? 'same' : now === null ? 'removed' : 'added';
    return (
      <div class={`diff-line ${kind}${state}`}>
        <LineNumber value={old?.number} />
        <LineNumber value={now?.number} />
        <Text kind={kind} text={side?.text ?? ''} other={null} query={query} />
      </div>
    );
  }
  return (
    <div class={`diff-pair${state}`}>
      <Half
        side={old}
        kind={isSame ? 'same' : 'removed'}
        other={isSame ? null : (now?.text ?? null)}
        query={query}
      />
      <Half
        side={now}
        kind={isSame ? 'same' : 'added'}
        other={isSame ? null : (old?.text ?? null)}
        query={query}
      />
    </div>
  );
}

type LineKind = 'same' | 'removed' | 'added';

interface HalfProps {
  side: Side | null;
  kind: LineKind;
  other: string | null;
  query: string;
}

function Half({ side, kind, other, query }: HalfProps) {
  if (side === null) return <div class="diff-half nothing" />;
  return (
    <div class={`diff-half ${kind}`}>
      <LineNumber value={side.number} />
      <Text kind={kind} text={side.text} other={other} query={query} />
    </div>
  );
}

function LineNumber({ value }: { value: number | undefined }) {
  return <span class="line-number" data-number={value ?? ''} />;
}

const SIGNS = { same: ' ', removed: '-', added: '+' };

interface TextProps {
  kind: LineKind;
  text: string;
  /** The line on the other side, for highlighting the words that differ. */
  other: string | null;
  query: string;
}

function Text({ kind, text, other, query }: TextProps) {
  return (
    <>
      <span class="diff-sign" data-sign={SIGNS[kind]}>
        {kind !== 'same' && <span class="visually-hidden">{kind}: </span>}
      </span>
      <span class="line-text">
        {query !== '' || other === null || text.length + other.length > MAX_COMPARED
          ? markOccurrences(text, query)
          : markWords(kind, text, other)}
      </span>
    </>
  );
}

function markWords(kind: LineKind, text: string, other: string) {
  const isOld = kind === 'removed';
  const parts = isOld ? diffWordsWithSpace(text, other) : diffWordsWithSpace(other, text);
  return parts.map(({ value, added, removed }) => {
    if (isOld ? added : removed) return null;
    return added || removed ? <mark>{revealHidden(value)}</mark> : revealHidden(value);
  });
}
