import { changesMade } from '../../api/change-signals.ts';
import { listDrafts } from '../../api/drafts-api.ts';
import { formatNumber } from '../../text/format.ts';
import { useLoad } from '../../ui/use-load.ts';

const INTERVAL_MS = 60_000;
const MOST = 99;

/** Shows the number of open drafts; hidden if there are none. */
export function WaitingDrafts() {
  const { data } = useLoad(
    (signal) => listDrafts(undefined, { limit: 1 }, signal),
    [changesMade.value],
    undefined,
    INTERVAL_MS,
  );
  const waiting = data?.total ?? 0;
  if (waiting === 0) return null;
  return (
    <span class="waiting" title={`${formatNumber(waiting)} to review`}>
      {waiting > MOST ? `${MOST}+` : waiting}
      <span class="visually-hidden"> to review</span>
    </span>
  );
}
