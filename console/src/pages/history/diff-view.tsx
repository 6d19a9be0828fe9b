import { signal } from '@preact/signals';
import { diffWordsWithSpace } from 'diff';
import { useMemo, useState } from 'preact/hooks';
import { visible } from '../../text/visible.tsx';
import { Icon } from '../../ui/icon.tsx';
import { MovedPath } from '../../ui/path-name.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { type DiffRow, diffRows, type ShownDiff, type Side } from './diff-rows.ts';

const LINE_HEIGHT = 21;
/** Maximum length of two lines whose differing words are highlighted. Comparing longer lines is slow. */
const MAX_COMPARED = 2000;

const isWide = matchMedia('(min-width: 900px)');
/** Layout of all diffs on the page, until the user selects another one. */
const isSplit = signal(isWide.matches);

const LAYOUTS = [
  ['split', 'Side by side'],
  ['unified', 'Unified'],
] as const;

interface Props {
  files: ShownDiff[];
  /** Description of the compared texts. */
  summary?: string;
  onEnd?: (() => void) | undefined;
}

/** Shows differences of files, side by side or unified. */
export function DiffView({ files, summary = '', onEnd }: Props) {
  const [collapsed, setCollapsed] = useState<ReadonlySet<number>>(() => new Set());
  const split = isSplit.value;
  const rows = useMemo(
    () => diffRows(files, split, (file) => collapsed.has(file)),
    [files, split, collapsed],
  );
  const toggle = (file: number) => {
    const next = new Set(collapsed);
    if (!next.delete(file)) next.add(file);
    setCollapsed(next);
  };
  return (
    <div class="diff">
      <div class="diff-head">
        <span class="muted small">{summary}</span>
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
        class={split ? 'diff-rows code split' : 'diff-rows code unified'}
        kind="list"
        label="Differences"
        count={rows.length}
        rowHeight={LINE_HEIGHT}
        onEnd={onEnd}
      >
        {(index) => {
          const row = rows[index];
          if (row === undefined) return null;
          if (row.kind !== 'title') return <Row row={row} isSplit={split} />;
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
  const kind =
    oldPath === null ? 'added' : path === null ? 'deleted' : oldPath === path ? 'modified' : 'renamed';
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

function Row({ row, isSplit }: { row: Exclude<DiffRow, { kind: 'title' }>; isSplit: boolean }) {
  if (row.kind !== 'line') {
    return <div class={`diff-${row.kind}`}>{row.text}</div>;
  }
  const { old, now } = row;
  const isSame = old !== null && now !== null && old.text === now.text;
  if (!isSplit) {
    const side = now ?? old;
    const kind = isSame ? 'same' : now === null ? 'removed' : 'added';
    return (
      <div class={`diff-line ${kind}`}>
        <LineNumber value={old?.number} />
        <LineNumber value={now?.number} />
        <Text kind={kind} text={side?.text ?? ''} other={null} />
      </div>
    );
  }
  return (
    <div class="diff-pair">
      <Half side={old} kind={isSame ? 'same' : 'removed'} other={isSame ? null : (now?.text ?? null)} />
      <Half side={now} kind={isSame ? 'same' : 'added'} other={isSame ? null : (old?.text ?? null)} />
    </div>
  );
}

type LineKind = 'same' | 'removed' | 'added';

function Half({ side, kind, other }: { side: Side | null; kind: LineKind; other: string | null }) {
  if (side === null) return <div class="diff-half nothing" />;
  return (
    <div class={`diff-half ${kind}`}>
      <LineNumber value={side.number} />
      <Text kind={kind} text={side.text} other={other} />
    </div>
  );
}

function LineNumber({ value }: { value: number | undefined }) {
  return <span class="line-number" data-number={value ?? ''} />;
}

const SIGNS = { same: ' ', removed: '-', added: '+' };

/** @param other the line on the other side, for highlighting the words that differ */
function Text({ kind, text, other }: { kind: LineKind; text: string; other: string | null }) {
  return (
    <>
      <span class="diff-sign" data-sign={SIGNS[kind]}>
        {kind !== 'same' && <span class="visually-hidden">{kind}: </span>}
      </span>
      <span class="line-text">
        {other === null || text.length + other.length > MAX_COMPARED
          ? visible(text)
          : words(kind, text, other)}
      </span>
    </>
  );
}

function words(kind: LineKind, text: string, other: string) {
  const isOld = kind === 'removed';
  const parts = isOld ? diffWordsWithSpace(text, other) : diffWordsWithSpace(other, text);
  return parts.map(({ value, added, removed }) => {
    if (isOld ? added : removed) return null;
    return added || removed ? <mark>{visible(value)}</mark> : visible(value);
  });
}
