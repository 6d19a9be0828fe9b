/** Who made a change. `source`: where what is written with a key comes from, as its operator says. */
export type Actor =
  | { type: 'api_key'; id: string; label: string; source?: string | undefined }
  /** An administrator, as opposed to an agent. */
  | { type: 'admin_key'; id: string; label: string; source?: string | undefined }
  /** `subject` is null for a token without one. */
  | { type: 'jwt'; subject: string | null }
  | { type: 'operator'; name: string }
  /** Of the hosted Memory Stores API, from which the version was imported. */
  | { type: 'session'; id: string }
  | { type: 'system'; job: string }
  | { type: 'anonymous' };

/** Where what an actor writes comes from, as far as its key says. */
export function sourceOf(actor: Actor): string | null {
  return ('source' in actor && actor.source) || null;
}

/** An actor in words, for people. */
export function actorText(actor: Actor): string {
  switch (actor.type) {
    case 'api_key':
      return `key ${actor.label || actor.id}`;
    case 'admin_key':
      return `admin key ${actor.label || actor.id}`;
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

/** An actor in words, with the memory through which its change came, if that is another one than was changed. */
export function actorTextVia(actor: Actor, viaTenant: string | null): string {
  return viaTenant === null ? actorText(actor) : `${actorText(actor)} via ${viaTenant}`;
}

/** Where a change comes from: who made it, and on what request, where there was one. */
export interface Origin {
  actor: Actor;
  requestId?: string | undefined;
  toolUseId?: string | undefined;
  /** The tenant whose memory mounts the one that was changed, and through which the change came. */
  viaTenant?: string | undefined;
  /** Of what was merged from a draft, by an actor who proposed it: the draft, and who approved it. */
  draft?: string | undefined;
  approvedBy?: Actor | undefined;
}

/** In UTF-16 units. Callers choose ids, labels and subjects, and no quota counts them. */
const MAX_CHARACTERS = 255;

/** An origin as it is stored with a version: JSON, each text in it bounded and printable. */
export function storedOrigin(origin: Origin): string {
  return printableJson(origin);
}

/** The actor of a redaction as it is stored. */
export function storedActor(actor: Actor): string {
  return printableJson(actor);
}

function printableJson(value: Origin | Actor): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'string' ? printable(each) : each));
}

/** Surrogates without a partner are no characters, and Postgres stores no U+0000. */
function printable(text: string): string {
  return text
    .slice(0, MAX_CHARACTERS)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}

const ANONYMOUS: Actor = { type: 'anonymous' };

/** The actor of a stored origin; of a version from before there was a history, nobody known. */
export function actorOf(origin: Origin | null): Actor {
  return origin?.actor ?? ANONYMOUS;
}
