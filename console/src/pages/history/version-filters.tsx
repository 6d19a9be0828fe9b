import { actorText } from '../../../../src/core/memory/origin.ts';
import type { Version } from '../../api/api-types.ts';
import type { ActorQuery, VersionQuery } from '../../api/history-api.ts';
import { replaceQuery } from '../../router.ts';
import { actorFilter } from '../../text/actor.ts';
import { Icon } from '../../ui/icon.tsx';
import { Name } from '../../ui/name.tsx';
import { Options } from '../../ui/options.tsx';
import { PathName } from '../../ui/path-name.tsx';
import { TimeField } from '../../ui/time-field.tsx';

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
type Filter = Pick<VersionQuery, (typeof NAMES)[number]>;

const OPERATIONS = {
  '': 'All changes',
  created: 'Created',
  modified: 'Modified',
  renamed: 'Renamed',
  deleted: 'Deleted',
};

/** Reads the version filter from the URL query. */
export function readFilter(query: URLSearchParams): Filter {
  return Object.fromEntries(NAMES.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : [])));
}

interface Props {
  filter: Filter;
  /** The listed versions, used to find an actor's name by ID. */
  versions: readonly Version[];
}

export function Filters({ filter, versions }: Props) {
  return (
    <div class="pane-head wraps filters-of-versions">
      <Part name="path_contains" label="Path" placeholder="Path" filter={filter} />
      <Part name="by_contains" label="Actor" placeholder="Actor" filter={filter} />
      <Source source={filter.source} versions={versions} />
      <label>
        <span class="visually-hidden">Operation</span>
        <select
          value={filter.operation ?? ''}
          onChange={(event) => replaceQuery({ operation: event.currentTarget.value })}
        >
          <Options texts={OPERATIONS} />
        </select>
      </label>
      <TimeField
        isCoarse
        label="From"
        value={filter.since ?? null}
        onChange={(since) => replaceQuery({ since })}
      />
      <TimeField
        isCoarse
        label="To"
        value={filter.until ?? null}
        onChange={(until) => replaceQuery({ until })}
      />
      <ExactMatch {...filter} versions={versions} />
    </div>
  );
}

interface PartProps {
  name: 'path_contains' | 'by_contains';
  label: string;
  placeholder: string;
  filter: Filter;
}

function Part({ name, label, placeholder, filter }: PartProps) {
  return (
    <label>
      <span class="visually-hidden">{label}</span>
      <input
        type="search"
        placeholder={placeholder}
        value={filter[name] ?? ''}
        onInput={(event) => replaceQuery({ [name]: event.currentTarget.value })}
      />
    </label>
  );
}

/** Filters by the source that was declared for the keys that made the changes. */
function Source({ source, versions }: { source: string | undefined; versions: readonly Version[] }) {
  const known = new Set(versions.flatMap((version) => version.source ?? []));
  return (
    <label>
      <span class="visually-hidden">Source</span>
      <input
        type="search"
        placeholder="Source"
        list="sources"
        value={source ?? ''}
        onInput={(event) => replaceQuery({ by: null, source: event.currentTarget.value })}
      />
      <datalist id="sources">
        {[...known].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

/** Returns the actor or the source in the filter, or null. */
export function filterActor({ by, source }: Filter): ActorQuery | null {
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

/** Chips for a path or an actor from a link, each with a button to remove the filter. */
function ExactMatch({ path, by, versions }: Filter & { versions: readonly Version[] }) {
  return (
    <>
      {path !== undefined && (
        <p class="chip">
          <span class="muted">At</span> <PathName path={path} />
          <Remove what="the path" name="path" />
        </p>
      )}
      {by !== undefined && (
        <p class="chip">
          <span class="muted">By</span> <Name text={actorLabel({ by }, versions)} />
          <Remove what="the actor" name="by" />
        </p>
      )}
    </>
  );
}

function Remove({ what, name }: { what: string; name: 'path' | 'by' }) {
  return (
    <button type="button" class="icon-button" onClick={() => replaceQuery({ [name]: null })}>
      <Icon name="close" />
      <span class="visually-hidden">Remove the filter by {what}</span>
    </button>
  );
}
