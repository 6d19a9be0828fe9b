import { useLayoutEffect, useState } from 'preact/hooks';
import { formatDuration } from '../text/format.ts';

/**
 * Shows how long work goes on, and for how long already.
 *
 * @param fraction how much is done, from 0 to 1; null while that is not known
 */
export function WorkProgress({ what, fraction }: { what: string; fraction: number | null }) {
  const seconds = useSeconds();
  return (
    <div class="work-progress">
      <p>
        <span>{what}</span>
        <span class="muted small">{formatDuration(seconds)}</span>
      </p>
      <progress aria-label={what} {...(fraction === null ? {} : { value: fraction, max: 1 })} />
    </div>
  );
}

/** Whole seconds since the component appeared. */
function useSeconds(): number {
  const [seconds, setSeconds] = useState(0);
  // A layout effect starts the clock with the first paint; an effect may run a frame or more later.
  useLayoutEffect(() => {
    const start = Date.now();
    const timer = setInterval(() => setSeconds(Math.floor((Date.now() - start) / 1000)), 1000);
    return () => clearInterval(timer);
  }, []);
  return seconds;
}
