import type { Actor } from '../../../src/core/memory/origin.ts';

/** Returns an actor's ID for filters and for `revert`. Returns null if the actor has no unique ID. */
export function actorFilter(actor: Actor): string | null {
  switch (actor.type) {
    case 'api_key':
    case 'admin_key':
    case 'session':
    case 'user':
      return actor.id;
    case 'jwt':
      return actor.subject;
    case 'operator':
      return actor.name;
    case 'system':
      return actor.job;
    case 'anonymous':
      return 'anonymous';
  }
}
