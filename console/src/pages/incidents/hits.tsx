import { actorText } from '../../../../src/core/memory/origin.ts';
import { type Hit, listHits } from '../../api/incidents-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { toHref } from '../../router.ts';
import { actorFilter } from '../../text/actor.ts';
import { count, formatNumber } from '../../text/format.ts';
import { revealHidden } from '../../text/visible.tsx';
import { Button } from '../../ui/button.tsx';
import { ActorName, Badge, Time } from '../../ui/inline.tsx';
import { LoadPages } from '../../ui/load.tsx';
import { PathName } from '../../ui/path-name.tsx';
import { usePages } from '../../ui/use-pages.ts';

interface Props {
  job: string;
  tenant: string;
  /** Number of hits. The service stores only the first ones. */
  total: number;
  /** Called to undo the changes by a hit's actor. */
  onUndo: (by: string) => void;
}

/** Lists a find's hits in a tenant. The texts are read when the list is opened. */
export function Hits({ job, tenant, total, onUndo }: Props) {
  const pages = usePages('hits', (after, signal) => listHits(job, tenant, after, signal), [job, tenant]);
  const { items = [], more, error } = pages;
  const left = total - items.length;
  return (
    <>
      <LoadPages of={pages} what="the hits" empty="No stored hits" more="Show more hits">
        {(hits) => (
          <ul class="hits">
            {hits.map((hit) => (
              <HitRow key={`${hit.version_id} ${hit.in}`} tenant={tenant} hit={hit} onUndo={onUndo} />
            ))}
          </ul>
        )}
      </LoadPages>
      {items.length > 0 && more === undefined && error === undefined && left > 0 && (
        <p class="muted small pad">
          {formatNumber(left)} more {left === 1 ? 'hit is' : 'hits are'} counted, but not stored.
        </p>
      )}
    </>
  );
}

function HitRow({ tenant, hit, onUndo }: { tenant: string; hit: Hit; onUndo: Props['onUndo'] }) {
  const { actor, at, excerpt, line, lines, place, draft } = hit;
  const by = actor === null ? null : actorFilter(actor);
  return (
    <li class="hit">
      <p class="cluster">
        <Badge kind="neutral">{draft === null ? place : 'draft'}</Badge>
        <HitLink tenant={tenant} hit={hit} />
        {line !== null && (
          <span class="muted small">
            line {formatNumber(line)}
            {lines > 1 && ` and ${count(lines - 1, 'more line')}`}
          </span>
        )}
        {hit.in === 'path' && <span class="muted small">the path matches</span>}
      </p>
      {excerpt !== null && <p class="snippet pre hit-excerpt code">{revealHidden(excerpt)}</p>}
      {actor !== null && at !== null && (
        <p class="cluster muted small">
          {hit.operation} by <ActorName actor={actor} /> · <Time value={at} />
          {by !== null && canWrite.value && (
            <Button
              text="Undo this actor…"
              class="link"
              onClick={() => onUndo(by)}
              aria-label={`Undo this actor…, ${actorText(actor)}`}
            />
          )}
        </p>
      )}
    </li>
  );
}

/** Link to a hit's file, version, or draft. */
function HitLink({ tenant, hit }: { tenant: string; hit: Hit }) {
  const { path, draft, version_id, place, redacted, line } = hit;
  if (path === null) return <span class="muted">{redacted ? '(redacted)' : '(no longer kept)'}</span>;
  const href =
    draft !== null
      ? toHref(['tenants', tenant, 'drafts', draft], { file: hit.memory_id })
      : place === 'current'
        ? toHref(['tenants', tenant], { path, line })
        : toHref(['tenants', tenant, 'history'], { version: version_id });
  return (
    <a class="name-link" href={href}>
      <PathName path={path} />
    </a>
  );
}
