import { useMemo } from 'preact/hooks';
import type { DraftChange } from '../../api/drafts.ts';
import { formatNumber } from '../../text/format.ts';
import { MovedPath } from '../../ui/path-name.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { type Progress, progressOf, type Settlement, type Settlements } from './settlements.ts';
import { GROUPS, type Group, groupOf, pathsOf, sidesText } from './words.ts';

type Row = { title: string } | { change: DraftChange };

interface Props {
  changes: readonly DraftChange[];
  settlements: Settlements;
  /** Memory ID of the selected file. */
  selected: string | null;
  onSelect: (id: string) => void;
}

/** Lists the changed files by kind of change, conflicts first. */
export function ChangeList({ changes, settlements, selected, onSelect }: Props) {
  const rows = useMemo(() => rowsOf(changes), [changes]);
  return (
    <VirtualList class="versions" kind="list" label="Changed files" count={rows.length} rowHeight={57}>
      {(index) => {
        const row = rows[index];
        if (row === undefined) return null;
        if ('title' in row) return <h3 class="day">{row.title}</h3>;
        const { change } = row;
        return (
          <ChangeRow
            change={change}
            settlement={settlements.get(change.memory_id)}
            isSelected={change.memory_id === selected}
            onSelect={onSelect}
          />
        );
      }}
    </VirtualList>
  );
}

function rowsOf(changes: readonly DraftChange[]): Row[] {
  const groups = new Map<Group, DraftChange[]>();
  for (const change of changes) {
    const group = groupOf(change);
    const members = groups.get(group);
    if (members === undefined) groups.set(group, [change]);
    else members.push(change);
  }
  return (Object.keys(GROUPS) as Group[]).flatMap((group): Row[] => {
    const members = groups.get(group);
    if (members === undefined) return [];
    const title = `${GROUPS[group]} (${formatNumber(members.length)})`;
    return [{ title }, ...members.map((change) => ({ change }))];
  });
}

interface RowProps {
  change: DraftChange;
  settlement: Settlement | undefined;
  isSelected: boolean;
  onSelect: (id: string) => void;
}

function ChangeRow({ change, settlement, isSelected, onSelect }: RowProps) {
  const kind = change.conflict === null ? (change.in_draft ?? change.in_original ?? '') : 'conflict';
  const progress = progressOf(change, settlement);
  return (
    <button
      type="button"
      class="version-row"
      aria-pressed={isSelected}
      onClick={() => onSelect(change.memory_id)}
    >
      <span class="version-line">
        <span class={change.in_draft === null ? 'change' : `change ${kind}`}>{kind}</span>
        <span class="version-path">
          <MovedPath {...pathsOf(change)} />
        </span>
      </span>
      <span class="version-line muted small">
        <span class="cut" title={sidesText(change)}>
          {sidesText(change)}
        </span>
        <span class="spacer" />
        <span class={`progress-of ${progress}`}>{PROGRESS[progress](settlement)}</span>
      </span>
    </button>
  );
}

const CHOICES = { draft: 'takes the draft', original: 'keeps the original', text: 'takes your text' };

const PROGRESS: Record<Progress, (settlement: Settlement | undefined) => string> = {
  merges: () => '',
  open: () => 'to resolve',
  marked: () => 'has marks left',
  stale: () => 'changed since',
  settled: (settlement) => (settlement === undefined ? '' : CHOICES[settlement.choice]),
};
