/** Kind of text that an operator keeps out of a memory. All other kinds are secret kinds. */
export const KEPT_OUT = 'kept_out';

/** Describes detected secrets by their kinds, in a phrase that can follow a verb such as "contains". */
export function describeSecrets(kinds: readonly string[]): string {
  const secrets = kinds.filter((kind) => kind !== KEPT_OUT);
  const parts = [
    ...(secrets.length > 0 ? [`what looks like a secret (${secrets.join(', ')})`] : []),
    ...(secrets.length < kinds.length ? ['a text that an operator keeps out of this memory'] : []),
  ];
  return parts.join(' and ');
}

/** Describes how to remove detected secrets, in a phrase that can begin a sentence. */
export function removalAdvice(kinds: readonly string[]): string {
  return kinds.every((kind) => kind === KEPT_OUT) ? 'Remove the text' : 'Remove the secret';
}
