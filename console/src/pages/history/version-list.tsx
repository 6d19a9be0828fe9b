import { useMemo } from 'preact/hooks';
import type { Version } from '../../api/types.ts';
import { formatBytes, formatDay } from '../../text/format.ts';
import { ActorName, Time } from '../../ui/inline.tsx';
import { MovedPath } from '../../ui/path-name.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';

type Row = { day: string } | { version: Version };

interface Props {
  versions: readonly Version[];
  selected: string | null;
  /** ID of a version that cannot be selected. */
  disabled?: string;
  onSelect: (id: string) => void;
  onEnd: (() => void) | undefined;
}

/** Lists versions, newest first, grouped by day. */
export function VersionList({ versions, selected, disabled, onSelect, onEnd }: Props) {
  const rows = useMemo(() => rowsOf(versions), [versions]);
  return (
    <VirtualList
      class="versions"
      kind="list"
      label="Versions"
      count={rows.length}
      rowHeight={57}
      onEnd={onEnd}
    >
      {(index) => {
        const row = rows[index];
        if (row === undefined) return null;
        return 'day' in row ? (
          <h2 class="day">{row.day}</h2>
        ) : (
          <VersionRow
            version={row.version}
            isSelected={row.version.id === selected}
            isDisabled={row.version.id === disabled}
            onSelect={onSelect}
          />
        );
      }}
    </VirtualList>
  );
}

function rowsOf(versions: readonly Version[]): Row[] {
  const rows: Row[] = [];
  let last: string | undefined;
  for (const version of versions) {
    const day = formatDay(version.created_at);
    if (day !== last) rows.push({ day });
    last = day;
    rows.push({ version });
  }
  return rows;
}

interface RowProps {
  version: Version;
  isSelected: boolean;
  isDisabled: boolean;
  onSelect: (id: string) => void;
}

function VersionRow({ version, isSelected, isDisabled, onSelect }: RowProps) {
  const { path, previous_path, operation, created_at, actor, via_tenant, content_size_bytes } = version;
  return (
    <button
      type="button"
      class="version-row"
      aria-pressed={isSelected}
      disabled={isDisabled}
      onClick={() => onSelect(version.id)}
    >
      <span class="version-line">
        <span class={`change ${operation}`}>{operation}</span>
        <span class="version-path">
          {path === null ? '(redacted)' : <MovedPath from={previous_path} path={path} />}
        </span>
      </span>
      <span class="version-line muted small">
        <ActorName actor={actor} via={via_tenant} />
        <span class="spacer" />
        {content_size_bytes !== null && <span>{formatBytes(content_size_bytes)}</span>}
        <Time value={created_at} isClock />
      </span>
    </button>
  );
}
