import type { Actor } from '../../../src/memory/origin.ts';

/** What names the actor in filters and to `revert`. Null when nothing names it alone. */
export function actorFilter(actor: Actor): string | null {
  switch (actor.type) {
    case 'api_key':
    case 'admin_key':
    case 'session':
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
