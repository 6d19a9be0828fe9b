import type { Actor } from '../../../../src/core/memory/origin.ts';
import { canWrite } from '../../api/session-state.ts';
import { toHref } from '../../router.ts';
import { actorFilter } from '../../text/actor.ts';

interface Props {
  actor: Actor;
  /** Start of the actor's changes. */
  since: string;
  isButton?: boolean;
}

/** Link to the page for incidents, with the actor and the time filled in. */
export function IncidentLink({ actor, since, isButton = false }: Props) {
  const by = actorFilter(actor);
  if (by === null || !canWrite.value) return null;
  return (
    <a class={isButton ? 'button' : ''} href={toHref(['incidents'], { by, since })}>
      Undo in all tenants…
    </a>
  );
}
