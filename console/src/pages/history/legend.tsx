import { actorText } from '../../../../src/core/memory/origin.ts';
import type { Activity } from '../../api/api-types.ts';
import { toHref } from '../../router.ts';
import { actorFilter } from '../../text/actor.ts';
import { formatNumber } from '../../text/format.ts';
import { Name } from '../../ui/name.tsx';
import { OTHER } from './kept-colors.ts';

interface Props {
  tenant: string;
  activity: Activity;
  /** The actors' colors. */
  colors: readonly string[];
}

/** Timeline legend: each actor with the number of changes. */
export function Legend({ tenant, activity, colors }: Props) {
  const { actors, buckets } = activity;
  const others = buckets.reduce((sum, bucket) => sum + bucket.others, 0);
  if (actors.length === 0) return <p class="muted small">No changes in this time</p>;
  return (
    <ul class="legend small" aria-label="Changes by actor">
      {actors.map((actor, i) => (
        <li key={actorText(actor)}>
          <span class="swatch" style={{ background: colors[i] }} />
          <a href={toHref(['tenants', tenant, 'history'], { by: actorFilter(actor) })}>
            <Name text={actorText(actor)} />
          </a>
          <span class="muted">
            {formatNumber(buckets.reduce((sum, { counts }) => sum + (counts[i] ?? 0), 0))}
          </span>
        </li>
      ))}
      {others > 0 && (
        <li>
          <span class="swatch" style={{ background: OTHER }} /> others{' '}
          <span class="muted">{formatNumber(others)}</span>
        </li>
      )}
    </ul>
  );
}
