import type { Actor, Origin } from '../memory/origin.ts';

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
