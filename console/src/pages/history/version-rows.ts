import type { Version } from '../../api/api-types.ts';
import { formatDay } from '../../text/format.ts';

export type VersionRow = { key: string } & (
  | { kind: 'day'; day: string; time: string }
  | { kind: 'version'; version: Version; isPart: boolean }
  /** Changes to several files by one request, such as an import or a merge, the newest first. */
  | { kind: 'group'; versions: Version[]; isOpen: boolean }
);

/**
 * Returns the rows for a version list, newest first, with a heading for each day.
 *
 * @param isOpen whether a group is open, by the group's key; null shows each version separately
 */
export function versionRows(
  versions: readonly Version[],
  isOpen: ((key: string, group: readonly Version[]) => boolean) | null,
): VersionRow[] {
  const rows: VersionRow[] = [];
  let last: string | undefined;
  for (const group of isOpen === null ? versions.map((version) => [version]) : groupVersions(versions)) {
    const [first] = group;
    if (first === undefined) continue;
    const day = formatDay(first.created_at);
    if (day !== last) rows.push({ key: `day ${day}`, kind: 'day', day, time: first.created_at });
    last = day;
    const isGroup = group.length > 1;
    const key = `group ${groupId(first)}`;
    const isShown = !isGroup || (isOpen?.(key, group) ?? true);
    if (isGroup) rows.push({ key, kind: 'group', versions: group, isOpen: isShown });
    if (!isShown) continue;
    for (const version of group) rows.push({ key: version.id, kind: 'version', version, isPart: isGroup });
  }
  return rows;
}

/** Splits versions into runs from one request, or from one time and actor where no request is known. */
function groupVersions(versions: readonly Version[]): Version[][] {
  const groups: Version[][] = [];
  for (const version of versions) {
    const group = groups.at(-1);
    const previous = group?.at(-1);
    if (group !== undefined && previous !== undefined && groupId(previous) === groupId(version))
      group.push(version);
    else groups.push([version]);
  }
  return groups;
}

/** Identifies the change that a version belongs to. */
const groupId = ({ request_id, created_at, actor, draft }: Version) =>
  JSON.stringify([request_id ?? created_at, actor, draft]);
