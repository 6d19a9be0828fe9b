import { useId, useMemo, useRef, useState } from 'preact/hooks';
import { formatBytes } from '../../text/format.ts';
import { visible } from '../../text/visible.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Time } from '../../ui/inline.tsx';
import { VirtualList, type VirtualListHandle } from '../../ui/virtual-list.tsx';
import { ancestorsOf, type Node, rowsOf, type Tree } from './tree.ts';

const ROW_HEIGHT = 30;
/** In a small memory, every directory is open at first. */
const SMALL_TREE = 200;

interface Props {
  tree: Tree;
  selected: string | null;
  onSelect: (path: string) => void;
  isBusy: boolean;
}

/** The files and directories, as a tree for the keyboard (https://www.w3.org/WAI/ARIA/apg/patterns/treeview/). */
export function TreeView({ tree, selected, onSelect, isBusy }: Props) {
  const id = useId();
  const list = useRef<VirtualListHandle>(null);
  // What a person opened or closed; everything else follows the default.
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(() => new Map());
  const [active, setActive] = useState<string | null>(selected);
  const aboveSelected = useMemo(() => new Set(selected === null ? [] : ancestorsOf(selected)), [selected]);
  const isOpen = (path: string) =>
    toggled.get(path) ?? (tree.nodes.size <= SMALL_TREE || aboveSelected.has(path));
  const rows = useMemo(() => rowsOf(tree, isOpen), [tree, toggled, aboveSelected]);
  const activeIndex = rows.findIndex(({ entry }) => entry.path === active);

  const toggle = (path: string) => setToggled(new Map(toggled).set(path, !isOpen(path)));
  const activate = (index: number) => {
    const row = rows[Math.max(0, Math.min(index, rows.length - 1))];
    if (row === undefined) return;
    setActive(row.entry.path);
    list.current?.scrollTo(rows.indexOf(row));
  };
  const choose = ({ entry }: Node) => {
    setActive(entry.path);
    if (entry.kind === 'directory') toggle(entry.path);
    else onSelect(entry.path);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[activeIndex];
    const move = moveOf(event.key, rows, activeIndex, isOpen);
    if (move === undefined && !(row && (event.key === 'Enter' || event.key === ' '))) return;
    event.preventDefault();
    if (typeof move === 'number') activate(move);
    else if (row && (move === 'toggle' || move === undefined)) {
      if (move === 'toggle') toggle(row.entry.path);
      else choose(row);
    }
  };
  const onClick = ({ target }: Event) => {
    const index = target instanceof Element && target.closest('[data-index]')?.getAttribute('data-index');
    const row = index ? rows[Number(index)] : undefined;
    if (row) choose(row);
  };
  return (
    <VirtualList
      handle={list}
      class="tree"
      kind="tree"
      label="Files"
      aria-busy={isBusy}
      aria-activedescendant={activeIndex === -1 ? undefined : `${id}-${activeIndex}`}
      onKeyDown={onKeyDown}
      onClick={onClick}
      onFocus={() => activeIndex === -1 && activate(0)}
      count={rows.length}
      rowHeight={ROW_HEIGHT}
    >
      {(index) => {
        const node = rows[index];
        if (node === undefined) return null;
        const { path, kind } = node.entry;
        return (
          <Row
            node={node}
            id={`${id}-${index}`}
            isOpen={kind === 'directory' ? isOpen(path) : undefined}
            isActive={index === activeIndex}
            isSelected={path === selected}
          />
        );
      }}
    </VirtualList>
  );
}

interface RowProps {
  node: Node;
  id: string;
  isOpen: boolean | undefined;
  isActive: boolean;
  isSelected: boolean;
}

function Row({ node, id, isOpen, isActive, isSelected }: RowProps) {
  const { entry, name, level, totalBytes } = node;
  return (
    // The tree handles the keys: its rows are not focused themselves.
    <div
      id={id}
      role="treeitem"
      aria-level={level}
      aria-expanded={isOpen}
      aria-selected={isSelected}
      tabIndex={-1}
      class={isActive ? 'tree-row active' : 'tree-row'}
      style={{ paddingInlineStart: `${8 + (level - 1) * 16}px` }}
      title={entry.path}
    >
      <span class={isOpen ? 'twist open' : 'twist'}>{isOpen !== undefined && <Icon name="chevron" />}</span>
      <Icon name={entry.kind === 'directory' ? 'folder' : 'file'} />
      <bdi class="tree-name">{visible(name)}</bdi>
      <span class="tree-size">{formatBytes(totalBytes)}</span>
      <span class="tree-time">
        <Time value={entry.modified_at} isAge />
      </span>
    </div>
  );
}

/** The row that a key moves to, or `toggle` for a key that opens or closes the present one. */
function moveOf(
  key: string,
  rows: readonly Node[],
  index: number,
  isOpen: (path: string) => boolean,
): number | 'toggle' | undefined {
  const row = rows[index];
  const isOpenHere = row?.entry.kind === 'directory' && isOpen(row.entry.path);
  switch (key) {
    case 'ArrowDown':
      return index + 1;
    case 'ArrowUp':
      return index - 1;
    case 'PageDown':
      return index + 10;
    case 'PageUp':
      return index - 10;
    case 'Home':
      return 0;
    case 'End':
      return rows.length - 1;
    case 'ArrowRight':
      return isOpenHere ? index + 1 : row?.entry.kind === 'directory' ? 'toggle' : index;
    case 'ArrowLeft':
      return isOpenHere ? 'toggle' : parentIndex(rows, index);
    default:
      return undefined;
  }
}

function parentIndex(rows: readonly Node[], index: number): number {
  const level = rows[index]?.level ?? 1;
  return level === 1 ? index : rows.findLastIndex((row, i) => i < index && row.level < level);
}
