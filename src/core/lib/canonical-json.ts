/** A value that JSON can represent, with integers as its only numbers. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/**
 * Serializes a value in the canonical form from RFC 8785: without white space, and with property names in the order of
 * their UTF-16 units.
 *
 * @throws Error for a number that is not a safe integer, because implementations may write it differently
 */
export function canonicalJson(value: Json): string {
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    throw new Error('Only integers have one form in canonical JSON.');
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] as Json)}`).join(',')}}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
