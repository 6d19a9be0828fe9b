import { useEffect, useRef } from 'preact/hooks';
import { errorMessage } from '../../api/api-client.ts';
import { adjacentChanges } from '../../api/history-api.ts';
import { toast } from '../../ui/toasts.ts';

/** Selects a time, or null for now. Returns whether the time was selected. */
export type MoveTo = (at: string | null) => Promise<boolean>;
export type Step = (direction: 1 | -1) => void;

/**
 * Moves the selected time by one change, back or forward. Further steps are queued. Selecting another time or page
 * cancels all queued steps.
 *
 * @param at the selected time, or null for now
 */
export function useSteps(tenant: string, at: string | null, moveTo: MoveTo): Step {
  const latest = useRef(at);
  const jumps = useRef(0);
  if (latest.current !== at) jumps.current++;
  latest.current = at;
  useEffect(() => () => void jumps.current++, []);
  const queue = useRef(Promise.resolve());
  const take = async (direction: 1 | -1, jumpsBefore: number) => {
    const isCanceled = () => jumps.current !== jumpsBefore;
    if (isCanceled()) return;
    try {
      const from = latest.current;
      const to = await findAdjacentTime(tenant, from, direction);
      if (isCanceled() || to === from) return;
      latest.current = to;
      if (!(await moveTo(to))) latest.current = from;
    } catch (error) {
      toast(errorMessage(error));
    }
  };
  return (direction) => {
    const jumpsBefore = jumps.current;
    queue.current = queue.current.then(() => take(direction, jumpsBefore));
  };
}

async function findAdjacentTime(
  tenant: string,
  at: string | null,
  direction: 1 | -1,
): Promise<string | null> {
  const { previous, next } = await adjacentChanges(tenant, at);
  if (direction === -1) return previous ?? at;
  if (next === null) return null;
  // After the last change, the memory equals the current memory, so select now.
  return (await adjacentChanges(tenant, next)).next === null ? null : next;
}
