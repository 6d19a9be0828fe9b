import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Version } from '../../api/api-types.ts';
import { count, formatBytes, formatNumber } from '../../text/format.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ActorName, Time } from '../../ui/inline.tsx';
import { MovedPath } from '../../ui/path-name.tsx';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { versionRows } from './version-rows.ts';

/** Number of versions in a closed group from which the list no longer loads further versions by itself. */
const LARGE = 1000;

interface Props {
  versions: readonly Version[];
  selected: string | null;
  /** Whether the user selected the version, so that its group opens. */
  isChosen?: boolean;
  /** ID of a version that cannot be selected. */
  disabled?: string;
  onSelect: (id: string) => void;
  onEnd: (() => void) | undefined;
  /** Whether the changes from one request form one row, which opens. */
  isGrouped?: boolean;
  /** Action for one day's changes, given a time within the day. */
  dayAction?: ((time: string) => ComponentChildren) | undefined;
}

/** Lists versions, newest first, grouped by day. */
export function VersionList({
  versions,
  selected,
  isChosen = true,
  disabled,
  onSelect,
  onEnd,
  isGrouped = false,
  dayAction,
}: Props) {
  // Groups that the user opened or closed.
  const [open, setOpen] = useState<ReadonlyMap<string, boolean>>(() => new Map());
  const rows = useMemo(
    () =>
      versionRows(
        versions,
        isGrouped
          ? (key, group) =>
              // The only group in the list, and the group with the chosen version, are open at first.
              open.get(key) ??
              (group.length === versions.length || (isChosen && group.some((each) => each.id === selected)))
          : null,
      ),
    [versions, isGrouped, open, isChosen, selected],
  );
  const last = rows.at(-1);
  const isLarge = last?.kind === 'group' && last.versions.length >= LARGE;
  return (
    <>
      <VirtualList
        kind="list"
        label="Versions"
        count={rows.length}
        rowHeight={57}
        keyOf={(index) => rows[index]?.key ?? ''}
        onEnd={isLarge ? undefined : onEnd}
      >
        {(index) => {
          const row = rows[index];
          switch (row?.kind) {
            case undefined:
              return null;
            case 'day':
              return (
                <div class="spread day">
                  <h2>{row.day}</h2>
                  {dayAction?.(row.time)}
                </div>
              );
            case 'group':
              return (
                <GroupRow
                  versions={row.versions}
                  isOpen={row.isOpen}
                  hasMore={row === last && onEnd !== undefined}
                  onToggle={() => setOpen(new Map(open).set(row.key, !row.isOpen))}
                />
              );
            case 'version':
              return (
                <VersionRowButton
                  version={row.version}
                  isPart={row.isPart}
                  isSelected={row.version.id === selected}
                  isDisabled={row.version.id === disabled}
                  onSelect={onSelect}
                />
              );
          }
        }}
      </VirtualList>
      {isLarge && onEnd && <Button text="Show older changes" class="more" onClick={onEnd} />}
    </>
  );
}

interface GroupProps {
  versions: readonly Version[];
  isOpen: boolean;
  /** Whether further versions, which may belong to the group, are not loaded. */
  hasMore: boolean;
  onToggle: () => void;
}

/** Row for a change to several files. */
function GroupRow({ versions, isOpen, hasMore, onToggle }: GroupProps) {
  const [newest] = versions;
  if (newest === undefined) return null;
  const operations = [...Map.groupBy(versions, ({ operation }) => operation)];
  return (
    <button type="button" class="version-row" aria-expanded={isOpen} onClick={onToggle}>
      <span class="row version-line">
        <span class={isOpen ? 'muted twist open' : 'muted twist'}>
          <Icon name="chevron" />
        </span>
        <strong>
          {count(versions.length, 'change')}
          {hasMore ? ' or more' : ''}
        </strong>
        <span class="cut muted small">
          {operations.map(([operation, { length }]) => `${formatNumber(length)} ${operation}`).join(', ')}
        </span>
      </span>
      <AboutLine version={newest} />
    </button>
  );
}

interface RowProps {
  version: Version;
  /** Whether the row belongs to an open group. */
  isPart: boolean;
  isSelected: boolean;
  isDisabled: boolean;
  onSelect: (id: string) => void;
}

function VersionRowButton({ version, isPart, isSelected, isDisabled, onSelect }: RowProps) {
  const { path, previous_path, operation } = version;
  return (
    <button
      type="button"
      class={isPart ? 'version-row is-part' : 'version-row'}
      aria-pressed={isSelected}
      disabled={isDisabled}
      onClick={() => onSelect(version.id)}
    >
      <span class="row version-line">
        <span class={`change ${operation}`}>{operation}</span>
        <span class="version-path">
          {path === null ? '(redacted)' : <MovedPath from={previous_path} path={path} />}
        </span>
      </span>
      <AboutLine version={version} size={version.content_size_bytes} />
    </button>
  );
}

/** A row's second line, with the change's actor and time. */
function AboutLine({ version, size = null }: { version: Version; size?: number | null }) {
  return (
    <span class="row version-line muted small">
      <ActorName actor={version.actor} via={version.via_tenant} />
      <span class="spacer" />
      {size !== null && <span>{formatBytes(size)}</span>}
      <Time value={version.created_at} isClock />
    </span>
  );
}
