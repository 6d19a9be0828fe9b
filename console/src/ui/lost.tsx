import { useCallback, useState } from 'preact/hooks';
import { errorMessage } from '../api/api-client.ts';
import { Time } from './inline.tsx';

/** A view whose updates fail. */
export interface Lost {
  /** Time of the first failure. */
  since: string;
  message: string;
}

/** Remembers since when a view's updates fail. */
export function useLost(): { lost: Lost | null; onResult: (error: unknown) => void } {
  const [lost, setLost] = useState<Lost | null>(null);
  const onResult = useCallback((error: unknown) => {
    if (error === undefined) return setLost(null);
    setLost((before) => ({ since: before?.since ?? new Date().toISOString(), message: errorMessage(error) }));
  }, []);
  return { lost, onResult };
}

/** Warns that a view shows an old state, and that it continues by itself. */
export function LostNotice({ lost, what }: { lost: Lost | null; what: string }) {
  if (lost === null) return null;
  return (
    <p class="notice warning" role="alert">
      No news since <Time value={lost.since} />: {lost.message} {what} The page tries again by itself.
    </p>
  );
}
