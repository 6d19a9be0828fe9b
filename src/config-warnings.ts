import { type Config, VARIABLES } from './config.ts';

/**
 * Lists variables that are set and have no effect: settings of JSON Web Tokens without `AUTH=jwt`, and names that resemble a variable of
 * the service which is not set. Lines have no values.
 */
export function configWarnings(
  env: Readonly<Record<string, string | undefined>>,
  { AUTH }: Config,
): string[] {
  const given = Object.keys(env).filter((name) => env[name] !== '' && env[name] !== undefined);
  const unused = AUTH === 'jwt' ? [] : given.filter((name) => VARIABLES.includes(name) && isForTokens(name));
  // Programs beside this one have settings of tokens, too.
  const candidates = VARIABLES.filter(
    (name) => !given.includes(name) && (AUTH === 'jwt' || !isForTokens(name)),
  );
  const misspelled = given.flatMap((name) => {
    const meant = VARIABLES.includes(name) ? undefined : candidates.find((each) => resembles(name, each));
    return meant === undefined ? [] : [`${name} has no effect. Did you mean ${meant}?`];
  });
  return [
    ...unused.map((name) => `${name} has no effect with AUTH=${AUTH}; it needs AUTH=jwt.`),
    ...misspelled,
  ];
}

function isForTokens(variable: string): boolean {
  return /^(JWT|JWKS)_/.test(variable);
}

/**
 * Whether a name is probably a misspelled variable: written in other case, with one typing error, or with two in a long name. In a name of
 * up to five letters, only two exchanged neighbors count, because `HOST` and `PORT` are close to many names.
 */
function resembles(name: string, variable: string): boolean {
  if (variable.length <= 3) return false;
  if (variable.length <= 5)
    return name !== name.toLowerCase() && sorted(name) === sorted(variable) && distance(name, variable) === 1;
  return distance(name.toUpperCase(), variable) <= (variable.length < 14 ? 1 : 2);
}

function sorted(text: string): string {
  return [...text].sort().join('');
}

/** Counts the letters to insert, delete, replace, or exchange with their neighbor (optimal string alignment). */
function distance(a: string, b: string): number {
  // Names that differ more in length are never close, and a long name would take long.
  if (Math.abs(a.length - b.length) > 2) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(at(last, j) + 1, at(row, j - 1) + 1, replaced);
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isExchange) row[j] = Math.min(at(row, j), at(before, j - 2) + 1);
    }
    [before, last] = [last, row];
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
