import { useEffect, useState } from 'preact/hooks';
import { changesMade } from '../../api/changes.ts';
import { listDrafts } from '../../api/drafts.ts';
import { formatNumber } from '../../text/format.ts';

const INTERVAL_MS = 60_000;
const MOST = 99;

/** How many drafts wait for a reviewer; nothing while there are none. */
export function WaitingDrafts() {
  const [waiting, setWaiting] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    const look = async () => {
      if (document.hidden) return;
      try {
        setWaiting((await listDrafts(undefined, { limit: 1 }, controller.signal)).total);
      } catch {
        // The page of drafts says what is wrong. This is not what the person asked for.
      }
    };
    void look();
    const timer = setInterval(look, INTERVAL_MS);
    document.addEventListener('visibilitychange', look);
    return () => {
      controller.abort();
      clearInterval(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [changesMade.value]);
  if (waiting === 0) return null;
  return (
    <span class="waiting" title={`${formatNumber(waiting)} to review`}>
      {waiting > MOST ? `${MOST}+` : waiting}
      <span class="visually-hidden"> to review</span>
    </span>
  );
}
