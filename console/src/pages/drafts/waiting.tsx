import { useEffect, useState } from 'preact/hooks';
import { changesMade } from '../../api/change-signals.ts';
import { listDrafts } from '../../api/drafts-api.ts';
import { formatNumber } from '../../text/format.ts';
import { watch } from '../../ui/watch.ts';

const INTERVAL_MS = 60_000;
const MOST = 99;

/** Shows the number of open drafts; hidden if there are none. */
export function WaitingDrafts() {
  const [waiting, setWaiting] = useState(0);
  useEffect(() => {
    const look = async (signal: AbortSignal) =>
      setWaiting((await listDrafts(undefined, { limit: 1 }, signal)).total);
    return watch(look, { intervalMs: INTERVAL_MS, now: true });
  }, [changesMade.value]);
  if (waiting === 0) return null;
  return (
    <span class="waiting" title={`${formatNumber(waiting)} to review`}>
      {waiting > MOST ? `${MOST}+` : waiting}
      <span class="visually-hidden"> to review</span>
    </span>
  );
}
