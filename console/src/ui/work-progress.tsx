import { useLayoutEffect, useState } from 'preact/hooks';
import { formatDuration } from '../text/format.ts';

/**
 * Shows a progress bar with the elapsed time.
 *
 * @param fraction completed part from 0 to 1, or null if unknown
 */
export function WorkProgress({ what, fraction }: { what: string; fraction: number | null }) {
  const seconds = useSeconds();
  return (
    <div class="work-progress">
      <p class="spread">
        <span>{what}</span>
        <span class="muted small">{formatDuration(seconds)}</span>
      </p>
      <progress aria-label={what} {...(fraction === null ? {} : { value: fraction, max: 1 })} />
    </div>
  );
}

/** Returns the whole seconds since the component was mounted. */
function useSeconds(): number {
  const [seconds, setSeconds] = useState(0);
  // A layout effect starts the clock with the first paint. An effect may run a frame or more later.
  useLayoutEffect(() => {
    const start = Date.now();
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - start) / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  return seconds;
}
