import { actorText } from '../../../../src/core/memory/origin.ts';
import type { Version } from '../../api/api-types.ts';
import type { ActorQuery, VersionQuery } from '../../api/history-api.ts';
import { actorFilter } from '../../text/actor.ts';
import { type Filter, FilterBar } from '../../ui/filter-bar.tsx';
import { Name } from '../../ui/name.tsx';
import { PathName } from '../../ui/path-name.tsx';

const NAMES = [
  'path',
  'path_contains',
  'by',
  'source',
  'by_contains',
  'operation',
  'since',
  'until',
] as const;
type VersionFilter = Pick<VersionQuery, (typeof NAMES)[number]>;

const OPERATIONS = {
  '': 'All changes',
  created: 'Created',
  modified: 'Modified',
  renamed: 'Renamed',
  deleted: 'Deleted',
};

/** Reads the version filter from the URL query. */
export function readFilter(query: URLSearchParams): VersionFilter {
  return Object.fromEntries(NAMES.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : [])));
}

interface Props {
  query: URLSearchParams;
  /** The listed versions, used to find an actor's name by ID. */
  versions: readonly Version[];
}

export function Filters({ query, versions }: Props) {
  const sources = new Set(versions.flatMap((version) => version.source ?? []));
  const filters: Record<string, Filter> = {
    by_contains: { title: 'Actor' },
    source: { title: 'Source', suggestions: [...sources], replaces: 'by' },
    operation: { title: 'Operation', texts: OPERATIONS },
    since: { title: 'From', isTime: true },
    until: { title: 'To', isTime: true },
    path: { title: 'At', show: (path) => <PathName path={path} /> },
    by: { title: 'By', show: (by) => <Name text={actorLabel({ by }, versions)} /> },
  };
  return (
    <div class="row pane-head">
      <FilterBar query={query} search={{ name: 'path_contains', title: 'Path' }} filters={filters} />
    </div>
  );
}

/** Returns the actor or the source in the filter, or null. */
export function filterActor({ by, source }: VersionFilter): ActorQuery | null {
  if (source !== undefined) return { source };
  return by === undefined ? null : { by };
}

/** Returns the displayed name for an actor or a source in the filter. */
export function actorLabel(query: ActorQuery, versions: readonly Version[]): string {
  if ('source' in query) return `source ${query.source}`;
  const { by } = query;
  const actor = versions.find((version) => actorFilter(version.actor) === by)?.actor;
  return actor === undefined ? by : actorText(actor);
}
