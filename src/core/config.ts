import type { z } from 'zod';
import { MAX_TEXT_BYTES } from './tenants/settings.ts';
import { environment, VARIABLES } from './variables.ts';

/** An invalid configuration. Each problem names a variable, without its value, which may be secret. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Returns the collector's URL for a signal. Undefined if the signal is not exported. */
export function collectorFor(signal: 'TRACES' | 'LOGS', config: Config): string | undefined {
  if (config.OTEL_SDK_DISABLED || config[`OTEL_${signal}_EXPORTER`] === 'none') return undefined;
  return config[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] ?? config.OTEL_EXPORTER_OTLP_ENDPOINT;
}

export type Config = Readonly<ReturnType<typeof loadConfig>>;

/**
 * Reads the configuration from environment variables. An empty variable counts as unset.
 *
 * @throws ConfigError that names every invalid variable
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>) {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    throw new ConfigError(parsed.error.issues.map(({ path, message }) => `${String(path[0])} ${message}`));
  }
  const values = parsed.data;
  const isLocal = isLoopback(values.HOST);
  const AUTH = values.AUTH ?? (values.DATABASE_URL !== undefined || !isLocal ? 'keys' : 'none');
  const problems = [...jwtProblems({ ...values, AUTH })];
  if (AUTH === 'none' && !isLocal && !values.ALLOW_UNAUTHENTICATED) {
    problems.push(
      `AUTH none gives everyone who can reach ${values.HOST} every tenant's memory: set HOST to a loopback address, or ALLOW_UNAUTHENTICATED=true if something in front authenticates`,
    );
  }
  if (values.ADMIN_PORT !== undefined) problems.push(...adminProblems({ ...values, AUTH }));
  problems.push(...openIdProblems({ ...values, AUTH }));
  if (problems.length > 0) throw new ConfigError(problems);
  return { ...values, AUTH, MAX_BODY_BYTES: values.MAX_BODY_BYTES ?? bodyLimitFor(values.MAX_FILE_BYTES) };
}

type Values = z.output<typeof environment>;

function jwtProblems(values: Values): string[] {
  if (values.AUTH !== 'jwt') return [];
  const problems: string[] = [];
  const { JWKS_URL, JWT_PUBLIC_KEY } = values;
  if (JWKS_URL === undefined && JWT_PUBLIC_KEY === undefined) {
    problems.push('AUTH=jwt requires JWKS_URL or JWT_PUBLIC_KEY');
  }
  if (JWKS_URL !== undefined && JWT_PUBLIC_KEY !== undefined) {
    problems.push('JWKS_URL and JWT_PUBLIC_KEY must not both be set');
  }
  for (const name of ['JWT_ISSUER', 'JWT_AUDIENCE'] as const) {
    if (values[name] === undefined) problems.push(`AUTH=jwt requires ${name}`);
  }
  return problems;
}

/**
 * Returns problems with the admin listener. `ALLOW_UNAUTHENTICATED` applies only to the main listener, because a proxy
 * for agents need not authenticate admins.
 */
function adminProblems({ AUTH, ADMIN_HOST, ADMIN_PORT, HOST, PORT }: Values): string[] {
  const problems: string[] = [];
  if (AUTH === 'none' && !isLoopback(ADMIN_HOST)) {
    problems.push(
      `AUTH none lets everyone who can reach ${ADMIN_HOST} administer the service: set ADMIN_HOST to a loopback address, or AUTH to keys or jwt`,
    );
  }
  if (ADMIN_PORT === PORT && ADMIN_HOST === HOST && PORT !== 0) {
    problems.push('ADMIN_PORT must differ from PORT');
  }
  return problems;
}

/** Returns problems with OpenID Connect sign-in, which `OIDC_ISSUER` switches on. */
function openIdProblems(values: Values): string[] {
  const { OIDC_ISSUER, CONSOLE_URL, ADMIN_PORT, AUTH } = values;
  if (OIDC_ISSUER === undefined) return [];
  const problems: string[] = [];
  for (const name of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'CONSOLE_URL'] as const)
    if (values[name] === undefined) problems.push(`OIDC_ISSUER requires ${name}`);
  if (ADMIN_PORT === undefined) problems.push('OIDC_ISSUER requires ADMIN_PORT, which serves the console');
  if (AUTH === 'none') problems.push('OIDC_ISSUER requires AUTH=keys or AUTH=jwt');
  for (const [name, url] of Object.entries({ OIDC_ISSUER, CONSOLE_URL }))
    if (url !== undefined && !isSafeUrl(url))
      problems.push(`${name} must begin with https://, except on this machine`);
  return problems;
}

/** Whether secrets may be sent to the URL: by TLS, or to this machine. */
function isSafeUrl(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || isLoopback(hostname.replace(/^\[(.*)\]$/, '$1'));
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Returns the size of the largest body with one file. JSON takes at most six bytes for a byte in the file (`\u0001`),
 * plus some space for the rest of the request.
 */
function bodyLimitFor(maxFileBytes: number): number {
  return maxFileBytes === 0 ? MAX_TEXT_BYTES / 8 : Math.min(6 * maxFileBytes + 65_536, MAX_TEXT_BYTES);
}

/**
 * Lists variables without effect, as lines without values: JSON Web Token settings without `AUTH=jwt`, sign-in settings
 * without `OIDC_ISSUER`, and names that resemble an unset service variable.
 */
export function configWarnings(
  env: Readonly<Record<string, string | undefined>>,
  { AUTH, OIDC_ISSUER }: Config,
): string[] {
  const given = Object.keys(env).filter((name) => env[name] !== '' && env[name] !== undefined);
  const unused = AUTH === 'jwt' ? [] : given.filter((name) => VARIABLES.includes(name) && isForTokens(name));
  // Without `AUTH=jwt`, names that resemble a variable for tokens probably belong to other programs.
  const candidates = VARIABLES.filter(
    (name) => !given.includes(name) && (AUTH === 'jwt' || !isForTokens(name)),
  );
  const withoutOpenId = OIDC_ISSUER === undefined ? given.filter((name) => /^OIDC_/.test(name)) : [];
  const misspelled = given.flatMap((name) => {
    const meant = VARIABLES.includes(name) ? undefined : candidates.find((each) => resembles(name, each));
    return meant === undefined ? [] : [`${name} has no effect. Did you mean ${meant}?`];
  });
  return [
    ...unused.map((name) => `${name} has no effect with AUTH=${AUTH}; it needs AUTH=jwt.`),
    ...withoutOpenId
      .filter((name) => VARIABLES.includes(name))
      .map((name) => `${name} has no effect without OIDC_ISSUER.`),
    ...misspelled,
  ];
}

function isForTokens(variable: string): boolean {
  return /^(JWT|JWKS)_/.test(variable);
}

/**
 * Whether a name is probably a misspelled variable: in another case, with one typing error, or with two typing errors
 * in a long name. In names with up to five letters, only two exchanged neighbors count, because `HOST` and `PORT`
 * resemble many names.
 */
function resembles(name: string, variable: string): boolean {
  if (variable.length <= 3) return false;
  if (variable.length <= 5)
    return (
      name !== name.toLowerCase() &&
      sortLetters(name) === sortLetters(variable) &&
      distance(name, variable) === 1
    );
  return distance(name.toUpperCase(), variable) <= (variable.length < 14 ? 1 : 2);
}

function sortLetters(text: string): string {
  return [...text].sort().join('');
}

/**
 * Returns the number of letters to insert, delete, replace, or exchange with their neighbor (optimal string alignment).
 */
function distance(a: string, b: string): number {
  // A larger difference in length cannot be close. The check also avoids long computations for long names.
  if (Math.abs(a.length - b.length) > 2) return Number.POSITIVE_INFINITY;
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = distanceAt(last, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(distanceAt(last, j) + 1, distanceAt(row, j - 1) + 1, replaced);
      const isExchange = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isExchange) row[j] = Math.min(distanceAt(row, j), distanceAt(before, j - 2) + 1);
    }
    [before, last] = [last, row];
  }
  return distanceAt(last, b.length);
}

function distanceAt(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
