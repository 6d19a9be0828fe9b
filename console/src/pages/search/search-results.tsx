import type { ComponentChildren } from 'preact';
import type { SearchMatch } from '../../api/api-types.ts';
import { search } from '../../api/memory-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { toHref } from '../../router.ts';
import { count } from '../../text/format.ts';
import { pathText } from '../../text/path-text.tsx';
import { revealHidden } from '../../text/visible.tsx';
import { Empty, LoadError, Loading } from '../../ui/status-messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { useLoad } from '../../ui/use-load.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';
import { newForm } from '../incidents/state.ts';
import { shortPath } from '../memory/tree.ts';

interface Props {
  tenant: string;
  at: string | null;
  query: string;
  onOpen: (path: string, line: number | null) => void;
}

/** Lists the matches in paths and contents at a time. */
export function SearchResults({ tenant, at, query, onOpen }: Props) {
  const debounced = useDebounced(query, 250);
  const { data, error, reload } = useLoad(
    (signal) => search(tenant, debounced, at, signal),
    [tenant, debounced, at],
  );
  if (error !== undefined) return <LoadError error={error} onRetry={reload} />;
  if (data === undefined) return <Loading what="matches" />;
  const { matches, more } = data;
  if (matches.length === 0)
    return (
      <Empty title="Nothing found">
        <FindEverywhere text={debounced} />
      </Empty>
    );
  return (
    <>
      <VirtualList kind="list" label="Matches" count={matches.length} rowHeight={52}>
        {(index) => {
          const match = matches[index];
          return match && <Match match={match} query={debounced} onOpen={onOpen} />;
        }}
      </VirtualList>
      {more > 0 && (
        <p class="pad small" role="status">
          Also found in {count(more, 'more file')}. Add a word to narrow the search.
        </p>
      )}
      <FindEverywhere text={debounced} />
    </>
  );
}

/** Link to the page for incidents, which finds the same words in all tenants' versions. */
function FindEverywhere({ text }: { text: string }) {
  if (!canWrite.value) return null;
  return (
    <p class="pad small">
      <a href={toHref(['incidents'])} onClick={() => newForm({ text, mode: 'words' })}>
        Find in all tenants and versions…
      </a>
    </p>
  );
}

function Match({ match, query, onOpen }: { match: SearchMatch; query: string; onOpen: Props['onOpen'] }) {
  return (
    <div>
      <button type="button" class="result" onClick={() => onOpen(match.path, match.line)}>
        <bdi class="cut result-path" dir="ltr" title={match.path}>
          {pathText(shortPath(match.path), (text) => markQuery(text, query))}
        </bdi>
        {match.text !== null && (
          <span class="muted code">
            {match.line !== null && <span class="muted">{match.line}: </span>}
            {markQuery(match.text, query)}
          </span>
        )}
      </button>
    </div>
  );
}

/** Highlights the query's words in a text. */
function markQuery(text: string, query: string): ComponentChildren {
  const words = query.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  if (words.length === 0) return revealHidden(text);
  // Each part with an odd index is a match.
  const parts = text.split(new RegExp(`(${words.join('|')})`, 'iu'));
  return (
    <>{parts.map((part, i) => (i % 2 === 1 ? <mark>{revealHidden(part)}</mark> : revealHidden(part)))}</>
  );
}
