/** The author of a change. `source` is the origin of a key's writes, as declared by its operator. */
export type Actor =
  | { type: 'api_key'; id: string; label: string; source?: string | undefined }
  /** An admin key for the admin API, as opposed to an agent's key. */
  | { type: 'admin_key'; id: string; label: string; source?: string | undefined }
  /** A person who signed in to the console. `id` is the subject at the OpenID Connect provider. */
  | { type: 'user'; id: string; label: string }
  /** `subject` is null for a token without a subject. */
  | { type: 'jwt'; subject: string | null }
  | { type: 'operator'; name: string }
  /** A session in the hosted Memory Stores API, from which the version was imported. */
  | { type: 'session'; id: string }
  | { type: 'system'; job: string }
  | { type: 'anonymous' };

/** Returns the source declared for an actor's key, or null. */
export function actorSource(actor: Actor): string | null {
  return ('source' in actor && actor.source) || null;
}

/** Describes an actor for people. */
export function actorText(actor: Actor): string {
  switch (actor.type) {
    case 'api_key':
      return `key ${actor.label || actor.id}`;
    case 'admin_key':
      return `admin key ${actor.label || actor.id}`;
    case 'user':
      return actor.label || actor.id;
    case 'jwt':
      return `token ${actor.subject ?? 'without a subject'}`;
    case 'operator':
      return `operator ${actor.name}`;
    case 'session':
      return `session ${actor.id}`;
    case 'system':
      return `job ${actor.job}`;
    case 'anonymous':
      return 'anonymous';
  }
}

/** Identifies an actor among all actors. A changed label does not make another actor. */
export function actorId(actor: Actor): string {
  if ('id' in actor) return `${actor.type}:${actor.id}`;
  if ('subject' in actor) return `${actor.type}:${actor.subject ?? ''}`;
  return 'name' in actor ? `${actor.type}:${actor.name}` : actor.type;
}

/** Describes an actor, with the tenant whose mount was used for the change, if any. */
export function actorTextVia(actor: Actor, viaTenant: string | null): string {
  return viaTenant === null ? actorText(actor) : `${actorText(actor)} via ${viaTenant}`;
}

/** Change origin: the actor, and the request if there was one. */
export interface Origin {
  actor: Actor;
  requestId?: string | undefined;
  toolUseId?: string | undefined;
  /** Tenant whose mount was used for the change. */
  viaTenant?: string | undefined;
  /** ID of the merged draft. `actor` is then its author, and `approvedBy` the actor that approved the merge. */
  draft?: string | undefined;
  approvedBy?: Actor | undefined;
  /** Revert whose conflict in the file this version resolves by a text, so that a later revert keeps the text. */
  resolves?: { by: string | null; since: string; until: string | null } | undefined;
}

/** Maximum length in UTF-16 units. Callers choose IDs, labels, and subjects, and no quota counts them. */
const MAX_CHARACTERS = 255;

/** Returns an origin's stored form: JSON whose strings are printable and limited in length. */
export function storedOrigin(origin: Origin): string {
  return printableJson(origin);
}

/** Returns the stored form of a redaction's actor. */
export function storedActor(actor: Actor): string {
  return printableJson(actor);
}

function printableJson(value: Origin | Actor): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'string' ? printable(each) : each));
}

/** Shortens a text, and replaces lone surrogates and control characters. Postgres cannot store U+0000. */
export function printable(text: string): string {
  return text
    .slice(0, MAX_CHARACTERS)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}

export const ANONYMOUS: Actor = { type: 'anonymous' };

/** Returns the actor in a stored origin. A version older than the history has no origin and counts as anonymous. */
export function originActor(origin: Origin | null): Actor {
  return origin?.actor ?? ANONYMOUS;
}
