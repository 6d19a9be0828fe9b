import { useRef } from 'preact/hooks';
import { messageOf } from '../../api/client.ts';
import { adjacentChanges } from '../../api/history.ts';
import { toast } from '../../ui/messages.tsx';

export type Step = (direction: 1 | -1) => void;

/**
 * Moves a moment by one change, back or on. Steps that are asked for while one is under way follow it.
 *
 * @param at null is now
 */
export function useSteps(tenant: string, at: string | null, onChange: (at: string | null) => void): Step {
  const latest = useRef(at);
  latest.current = at;
  const queue = useRef(Promise.resolve());
  const take = async (direction: 1 | -1) => {
    try {
      const to = await momentBeside(tenant, latest.current, direction);
      if (to === latest.current) return;
      latest.current = to;
      onChange(to);
    } catch (error) {
      toast(messageOf(error));
    }
  };
  return (direction) => {
    queue.current = queue.current.then(() => take(direction));
  };
}

async function momentBeside(tenant: string, at: string | null, direction: 1 | -1): Promise<string | null> {
  const { previous, next } = await adjacentChanges(tenant, at);
  if (direction === -1) return previous ?? at;
  if (next === null) return null;
  // The memory after the last change is that of now.
  return (await adjacentChanges(tenant, next)).next === null ? null : next;
}
