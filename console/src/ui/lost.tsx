import { errorMessage } from '../api/api-client.ts';
import { Time } from './inline.tsx';

/** A view whose updates fail. */
export interface Lost {
  /** Time of the last update. */
  since: string;
  error: unknown;
}

/** Warns that a view shows an old state, and that it continues by itself. */
export function LostNotice({ lost, what }: { lost: Lost | null; what?: string }) {
  if (lost === null) return null;
  return (
    <p class="notice warning" role="alert">
      No news since <Time value={lost.since} />: {errorMessage(lost.error)} {what} The page tries again by
      itself.
    </p>
  );
}
