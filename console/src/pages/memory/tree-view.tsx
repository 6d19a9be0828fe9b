import { useEffect, useId, useRef, useState } from 'preact/hooks';
import type { TenantMount } from '../../api/api-types.ts';
import { goTo, toHref } from '../../router.ts';
import { formatBytes } from '../../text/format.ts';
import { revealHidden } from '../../text/visible.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Badge, Time } from '../../ui/inline.tsx';
import { MountProblem } from '../../ui/mount-problem.tsx';
import { VirtualList, type VirtualListHandle } from '../../ui/virtual-list.tsx';
import { ACCESS, type Row, type Tree, treeRows } from './tree.ts';
import type { TreeLoader } from './tree-loader.ts';
import type { UsedTree } from './use-tree.ts';

const ROW_HEIGHT = 30;

interface Props extends UsedTree {
  tree: Tree;
  mounts: readonly TenantMount[];
  selected: string | null;
  onSelect: (path: string) => void;
}

type EntryRow = Extract<Row, { kind: 'file' | 'directory' }>;
type MountRow = Extract<Row, { kind: 'mount' }>;

/** Tree with the files and directories, operable by keyboard (https://www.w3.org/WAI/ARIA/apg/patterns/treeview/). */
export function TreeView({ loader, state, tree, mounts, selected, onSelect }: Props) {
  const id = useId();
  const list = useRef<VirtualListHandle>(null);
  const [active, setActive] = useState<string | null>(selected);
  const rows = treeRows(tree, loader.isOpen, mounts);
  const activeIndex = active === null ? -1 : rows.findIndex((row) => treeRowKey(row) === active);
  useShowing(selected, rows, (index) => {
    setActive(selected);
    list.current?.scrollTo(index);
  });

  const activate = (index: number) => {
    const row = rows[index];
    if (row === undefined) return;
    setActive(treeRowKey(row));
    list.current?.scrollTo(index);
  };
  const choose = (row: Row) => {
    setActive(treeRowKey(row));
    if (row.kind === 'more') loader.loadMore(row.path, row.part);
    else if (row.kind === 'directory') loader.toggle(row.path);
    else if (row.kind === 'mount') openSource(row);
    else onSelect(row.path);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[activeIndex];
    const move = keyboardMove(event.key, rows, activeIndex, loader.isOpen);
    if (move === undefined) return;
    event.preventDefault();
    if (typeof move === 'number') activate(move);
    else if (row?.kind === 'directory' && move === 'open') onSelect(row.path);
    else if (row) choose(row);
  };
  const onClick = ({ target }: Event) => {
    if (!(target instanceof Element)) return;
    const row = rows[Number(target.closest('[data-index]')?.getAttribute('data-index') ?? -1)];
    if (row && row.kind !== 'more' && row.kind !== 'mount' && target.closest('.tree-open'))
      onSelect(row.path);
    else if (row) choose(row);
  };
  return (
    <VirtualList
      handle={list}
      class="tree"
      kind="tree"
      label="Files"
      aria-busy={state.isLoading}
      aria-activedescendant={activeIndex === -1 ? undefined : `${id}-${activeIndex}`}
      onKeyDown={onKeyDown}
      onClick={onClick}
      onFocus={() => activeIndex === -1 && activate(0)}
      count={rows.length}
      rowHeight={ROW_HEIGHT}
      keyOf={(index) => treeRowKey(rows[index] as Row)}
    >
      {(index) => {
        const row = rows[index];
        if (row === undefined) return null;
        const place = { id: `${id}-${index}`, isActive: index === activeIndex };
        if (row.kind === 'more') {
          return <MoreRow row={row} loader={loader} tree={tree} {...place} />;
        }
        if (row.kind === 'mount') return <MountRow row={row} {...place} />;
        return (
          <EntryRow
            row={row}
            {...place}
            bytes={row.entry.size_bytes ?? tree.sizes.get(row.path)?.bytes}
            isOpen={row.kind === 'directory' ? loader.isOpen(row.path) : undefined}
            isSelected={row.path === selected}
          />
        );
      }}
    </VirtualList>
  );
}

/** Opens the memory that a mount shows, unless the memory is missing or its tenant is outside the session's scope. */
function openSource({ mount: { tenant, status } }: MountRow): void {
  if (tenant !== null && status !== 'missing') goTo(toHref(['tenants', tenant]));
}

/** Row for a mount, with its access and its source. */
function MountRow({
  row: { mount, path },
  id,
  isActive,
}: Pick<RowProps, 'id' | 'isActive'> & { row: MountRow }) {
  const { name, tenant, access, status } = mount;
  const source = tenant ?? 'another tenant';
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={1}
      aria-selected={false}
      tabIndex={-1}
      class={isActive ? 'row tree-row mount active' : 'row tree-row mount'}
      style={indent(1)}
      title={`${path}: the memory of ${source}, ${ACCESS[access]}${tenant === null || status === 'missing' ? '' : '. Click to open it.'}`}
    >
      <span class="muted twist" />
      <Icon name="tenants" />
      <bdi class="cut tree-name">{revealHidden(name)}</bdi>
      <span class="cut muted small">
        of <bdi>{revealHidden(source)}</bdi>
      </span>
      <Badge kind={access === 'read_only' ? 'neutral' : 'good'}>{ACCESS[access]}</Badge>
      <MountProblem status={status} />
    </div>
  );
}

const treeRowKey = (row: Row) => (row.kind === 'more' ? `more:${row.part}:${row.path}` : row.path);

/** Calls `show` once for each path, when the path has a row. */
function useShowing(path: string | null, rows: readonly Row[], show: (index: number) => void): void {
  const shown = useRef<string | null>(null);
  useEffect(() => {
    if (path === shown.current) return;
    const index = path === null ? -1 : rows.findIndex((row) => treeRowKey(row) === path);
    if (path !== null && index === -1) return;
    shown.current = path;
    if (index !== -1) show(index);
  });
}

interface RowProps {
  row: EntryRow;
  id: string;
  /** Undefined for a directory until its files are counted. */
  bytes: number | undefined;
  isOpen: boolean | undefined;
  isActive: boolean;
  isSelected: boolean;
}

/** Returns a row's indent. Deeply nested rows are indented less, to leave room for the name. */
const indent = (level: number) => ({
  paddingInlineStart: `${8 + Math.min(level - 1, 4) * 16 + Math.max(level - 5, 0) * 6}px`,
});

function EntryRow({ row: { entry, name, level }, id, bytes, isOpen, isActive, isSelected }: RowProps) {
  return (
    // The tree handles the keys, so its rows are not focusable.
    <div
      id={id}
      role="treeitem"
      aria-level={level}
      aria-expanded={isOpen}
      aria-selected={isSelected}
      tabIndex={-1}
      class={isActive ? 'row tree-row active' : 'row tree-row'}
      style={indent(level)}
      title={entry.path}
    >
      <span class={isOpen ? 'muted twist open' : 'muted twist'}>
        {isOpen !== undefined && <Icon name="chevron" />}
      </span>
      <Icon name={entry.kind === 'directory' ? 'directory' : 'file'} />
      <bdi class="cut tree-name">{revealHidden(name)}</bdi>
      <span class="muted small tree-size">{bytes !== undefined && formatBytes(bytes)}</span>
      <span class="muted small tree-time">
        <Time value={entry.modified_at} isAge />
      </span>
      {isOpen === undefined ? (
        <span class="muted tree-open" />
      ) : (
        // The button is for the mouse only; keyboard users press Enter.
        <span class="muted tree-open" title="Directory actions" aria-hidden="true">
          <Icon name="more" />
        </span>
      )}
    </div>
  );
}

type More = Extract<Row, { kind: 'more' }>;

interface MoreProps extends Pick<RowProps, 'id' | 'isActive'> {
  row: More;
  loader: TreeLoader;
  tree: Tree;
}

/**
 * Loads the next page when the row becomes visible. Between two parts, loading requires a click, because new rows would
 * move the view.
 */
function MoreRow({ row, loader, tree, id, isActive }: MoreProps) {
  const parts = tree.directories.get(row.path) ?? [];
  const isLast = row.part === parts.length - 1;
  const next = parts[row.part]?.next;
  useEffect(() => {
    if (isLast) loader.loadMore(row.path, row.part);
  }, [isLast, next]);
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={row.level}
      aria-selected={false}
      tabIndex={-1}
      class={isActive ? 'row tree-row muted active' : 'row tree-row muted'}
      style={indent(row.level)}
    >
      <span class="muted twist" />
      {isLast ? 'Loading more…' : 'Show more before the next'}
    </div>
  );
}

/** Returns the row that a key selects, or the key's action on the current row. */
function keyboardMove(
  key: string,
  rows: readonly Row[],
  index: number,
  isOpen: (path: string) => boolean,
): number | 'toggle' | 'open' | undefined {
  const row = rows[index];
  const isOpenHere = row?.kind === 'directory' && isOpen(row.path);
  const clampIndex = (target: number) => Math.max(0, Math.min(target, rows.length - 1));
  switch (key) {
    case 'ArrowDown':
      return clampIndex(index + 1);
    case 'ArrowUp':
      return clampIndex(index - 1);
    case 'PageDown':
      return clampIndex(index + 10);
    case 'PageUp':
      return clampIndex(index - 10);
    case 'Home':
      return 0;
    case 'End':
      return clampIndex(rows.length);
    case 'ArrowRight':
      return isOpenHere ? clampIndex(index + 1) : row?.kind === 'directory' ? 'toggle' : index;
    case 'ArrowLeft':
      return isOpenHere ? 'toggle' : parentIndex(rows, index);
    case 'Enter':
      return 'open';
    case ' ':
      return row?.kind === 'directory' ? 'toggle' : 'open';
    default:
      return undefined;
  }
}

function parentIndex(rows: readonly Row[], index: number): number {
  const level = rows[index]?.level ?? 1;
  return level === 1 ? index : rows.findLastIndex((row, i) => i < index && row.level < level);
}
