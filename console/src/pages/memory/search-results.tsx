import type { ComponentChildren } from 'preact';
import { search } from '../../api/memory.ts';
import type { SearchMatch } from '../../api/types.ts';
import { visible } from '../../text/visible.tsx';
import { Empty, LoadError, Loading } from '../../ui/messages.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { usePages } from '../../ui/use-pages.ts';
import { VirtualList } from '../../ui/virtual-list.tsx';

interface Props {
  tenant: string;
  at: string | null;
  query: string;
  onOpen: (path: string, line: number | null) => void;
}

/** What the search finds, in the names and contents of the present. */
export function SearchResults({ tenant, at, query, onOpen }: Props) {
  const settled = useDebounced(query, 250);
  const pages = usePages(
    async (after, signal) => {
      const { matches, next } = await search(tenant, settled, after, signal);
      return { items: matches, next };
    },
    [tenant, settled],
  );
  const matches = pages.items;
  if (pages.error !== undefined) return <LoadError error={pages.error} onRetry={pages.reload} />;
  if (matches === undefined) return <Loading what="matches" />;
  if (matches.length === 0) return <Empty title="Nothing found" />;
  return (
    <>
      {at !== null && <p class="muted small pad">The search looks at the memory as it is now.</p>}
      <VirtualList
        class="results"
        kind="list"
        label="Matches"
        count={matches.length}
        rowHeight={52}
        onEnd={pages.more}
      >
        {(index) => {
          const match = matches[index];
          return match && <Match {...{ match }} query={settled} onOpen={onOpen} />;
        }}
      </VirtualList>
    </>
  );
}

function Match({ match, query, onOpen }: { match: SearchMatch; query: string; onOpen: Props['onOpen'] }) {
  return (
    <div>
      <button type="button" class="result" onClick={() => onOpen(match.path, match.line)}>
        <bdi class="result-path">{marked(match.path.replace('/memories/', ''), query)}</bdi>
        {match.excerpt !== null && (
          <span class="result-excerpt">
            {match.line !== null && <span class="muted">{match.line}: </span>}
            {marked(match.excerpt, query)}
          </span>
        )}
      </button>
    </div>
  );
}

/** A text with what was searched for marked in it. */
function marked(text: string, query: string): ComponentChildren {
  const start = text.toLowerCase().indexOf(query.toLowerCase());
  if (start === -1) return visible(text);
  const end = start + query.length;
  return (
    <>
      {visible(text.slice(0, start))}
      <mark>{visible(text.slice(start, end))}</mark>
      {visible(text.slice(end))}
    </>
  );
}
