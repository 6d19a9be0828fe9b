import { useEffect, useRef } from 'preact/hooks';
import { messageOf } from '../../api/client.ts';
import { adjacentChanges } from '../../api/history.ts';
import { toast } from '../../ui/messages.tsx';

/** Goes to a moment, null for now; says whether it did. */
export type MoveTo = (at: string | null) => Promise<boolean>;
export type Step = (direction: 1 | -1) => void;

/**
 * Moves a moment by one change, back or on. Steps that are asked for while one is under way follow it. Going
 * elsewhere, to another moment or page, cancels all of them.
 *
 * @param at null is now
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
      const to = await momentBeside(tenant, from, direction);
      if (isCanceled() || to === from) return;
      latest.current = to;
      if (!(await moveTo(to))) latest.current = from;
    } catch (error) {
      toast(messageOf(error));
    }
  };
  return (direction) => {
    const jumpsBefore = jumps.current;
    queue.current = queue.current.then(() => take(direction, jumpsBefore));
  };
}

async function momentBeside(tenant: string, at: string | null, direction: 1 | -1): Promise<string | null> {
  const { previous, next } = await adjacentChanges(tenant, at);
  if (direction === -1) return previous ?? at;
  if (next === null) return null;
  // The memory after the last change is that of now.
  return (await adjacentChanges(tenant, next)).next === null ? null : next;
}
