import type { Comparison, DraftChange } from '../../api/drafts-api.ts';
import { route, toHref } from '../../router.ts';
import { count, withLocalTimes } from '../../text/format.ts';
import { PathName } from '../../ui/path-name.tsx';
import { sidesText } from './draft-texts.ts';
import { changeFingerprint } from './kept-resolutions.ts';

const SHOWN = 5;

/** A merge that was rejected because the draft or the original had changed after the review. */
export interface Rejection {
  message: string;
  /** The comparison that the reviewer saw. */
  seen: Comparison;
}

/** Lists the files that changed between a rejected merge and the current comparison. */
export function StaleReview({ rejection, now }: { rejection: Rejection; now: Comparison }) {
  const changed = findStaleChanges(rejection.seen.changes, now.changes);
  const { segments } = route.value;
  return (
    <div class="notice warning" role="alert">
      <p>
        <strong>The draft or the original has changed since your review.</strong>{' '}
        {withLocalTimes(rejection.message)}
      </p>
      {changed.length > 0 && (
        <ul class="clusters stale-changes" aria-label="Changed since the review">
          {changed.slice(0, SHOWN).map(({ change, isGone }) => (
            <li key={change.memory_id}>
              {isGone ? (
                <PathName path={change.path} />
              ) : (
                <a class="name-link" href={toHref(segments, { file: change.memory_id })}>
                  <PathName path={change.path} />
                </a>
              )}{' '}
              {isGone ? 'is again identical to the base' : sidesText(change)}
            </li>
          ))}
          {changed.length > SHOWN && <li>and {count(changed.length - SHOWN, 'more file')}</li>}
        </ul>
      )}
    </div>
  );
}

function findStaleChanges(before: readonly DraftChange[], after: readonly DraftChange[]) {
  const old = new Map(before.map((change) => [change.memory_id, changeFingerprint(change)]));
  const ids = new Set(after.map(({ memory_id }) => memory_id));
  return [
    ...after
      .filter((change) => old.get(change.memory_id) !== changeFingerprint(change))
      .map((change) => ({ change, isGone: false })),
    ...before.filter(({ memory_id }) => !ids.has(memory_id)).map((change) => ({ change, isGone: true })),
  ];
}
