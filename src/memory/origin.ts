/** Who made a change. */
export type Actor =
  | { type: 'api_key'; id: string; label: string }
  /** `subject` is null for a token without one. */
  | { type: 'jwt'; subject: string | null }
  | { type: 'operator'; name: string }
  | { type: 'system'; job: string }
  | { type: 'anonymous' };

/** An actor in words, for people. */
export function actorText(actor: Actor): string {
  switch (actor.type) {
    case 'api_key':
      return `key ${actor.label || actor.id}`;
    case 'jwt':
      return `token ${actor.subject ?? 'without a subject'}`;
    case 'operator':
      return `operator ${actor.name}`;
    case 'system':
      return `job ${actor.job}`;
    case 'anonymous':
      return 'anonymous';
  }
}

/** Where a change comes from: who made it, and on what request, where there was one. */
export interface Origin {
  actor: Actor;
  requestId?: string | undefined;
  toolUseId?: string | undefined;
}
