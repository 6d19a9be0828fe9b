import { createPublicKey } from 'node:crypto';
import { isIP } from 'node:net';
import { z } from 'zod';
import { expectedQuantity, formatQuantity, parseQuantity, type Unit } from './lib/units.ts';
import { ALL_SETTINGS, MAX_TEXT_BYTES, type Setting, type SettingVariables } from './tenants/settings.ts';

/** An invalid configuration. Each problem names a variable, without its value, which may be secret. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/** Parses a number from a text of digits, optionally with a unit, such as `10MB` or `5s`. */
const quantity = (unit: Unit, min: number, max: number = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .transform((text, context) => {
      const value = parseQuantity(text, unit);
      if (value !== undefined) return value;
      context.addIssue(`must be ${expectedQuantity(unit)}`);
      return z.NEVER;
    })
    .refine((n) => n >= min && n <= max, { error: `must be ${range(unit, min, max)}` })
    .meta({ unit, min, max });

function range(unit: Unit, min: number, max: number): string {
  const [from, to] = [formatQuantity(min, unit), formatQuantity(max, unit)];
  return max === Number.MAX_SAFE_INTEGER ? `at least ${from}` : `from ${from} to ${to}`;
}

const integer = (min: number, max?: number) => quantity('things', min, max);
/** Maximum time of a timer in Node and of a timeout in Postgres. A longer timer in Node fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const milliseconds = (min: number, max = MAX_TIMER_MS) => quantity('milliseconds', min, max);

const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');

/**
 * The service finds out whether the address is available when it starts listening. `%` begins the zone of an IPv6
 * address.
 */
const host = z
  .string()
  .regex(/^[\p{L}\p{N}_.:%-]{1,253}$/u, { error: 'must be an IP address or a host name' });

const httpUrl = z
  .string()
  .refine((value) => /^https?:\/\//.test(value) && URL.canParse(value), { error: 'must be an http(s) URL' })
  // Rejects a password that ends the host early because of a character such as `/`. Messages would show a part of the
  // password as the host.
  .refine((value) => !/\/\/[^/?#\\]*[/?#\\].*@/s.test(value), {
    error: 'must have no @ after its host; percent-encode the user and the password, such as / as %2F',
  });

/** Rejects a user and a password, because requests to the URL would omit them. */
const urlWithoutUser = httpUrl.refine((value) => !/\/\/[^/?#\\]*@/.test(value), {
  error: 'must be a URL without a user and a password',
});

/** Parameters of a `DATABASE_URL` that would replace a setting of the service, with the setting's variable. */
const TIME_LIMITS: Record<string, string> = {
  statement_timeout: 'DB_STATEMENT_TIMEOUT_MS',
  query_timeout: 'DB_STATEMENT_TIMEOUT_MS',
  lock_timeout: 'DB_LOCK_TIMEOUT_MS',
  idle_in_transaction_session_timeout: 'DB_IDLE_IN_TRANSACTION_TIMEOUT_MS',
};

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** Returns the problem of a `DATABASE_URL`, without any part of the URL, or undefined. */
function describeDatabaseUrl(value: string): string | undefined {
  if (!/^postgres(ql)?:\/\//.test(value)) {
    return 'must be a URL like postgres://user:password@host:5432/database';
  }
  // A character such as `/` in the user or password ends the host early. Messages would then show parts of the password
  // as the host.
  if (!URL.canParse(value) || /#|[/?].*@/s.test(value.slice(value.indexOf('//') + 2))) {
    return 'must be a URL like postgres://user:password@host:5432/database; percent-encode the user and the password, such as @ as %40, / as %2F, ? as %3F, # as %23, : as %3A, and % as %25';
  }
  const { searchParams } = new URL(value);
  const mode = searchParams.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode))
    return `must have one of these as sslmode: ${SSL_MODES.join(', ')}`;
  const limit = Object.keys(TIME_LIMITS).find((name) => searchParams.has(name));
  return limit && `must not have the parameter ${limit}; set ${TIME_LIMITS[limit]} instead`;
}

const databaseUrl = z.string().superRefine((value, context) => {
  const problem = describeDatabaseUrl(value);
  if (problem !== undefined) context.addIssue(problem);
});

/**
 * Whether a text that should be a directory is a URL, possibly a misspelled one. Messages must not show its password.
 */
export function looksLikeUrl(text: string): boolean {
  // The drive letter of a Windows path is removed before the check.
  return /:\/\/|:.*@/s.test(text.replace(/^[a-z]:\\/i, ''));
}

const folder = z
  .string()
  .refine((value) => !looksLikeUrl(value), { error: 'must be a folder; a URL belongs into DATABASE_URL' });

/** Parses `true`, `false`, or a list of the addresses and networks of proxies. */
const trustedProxies = z
  .string()
  .transform((value) =>
    /^(true|false)$/.test(value) ? value === 'true' : value.split(',').map((each) => each.trim()),
  )
  .refine((value) => typeof value === 'boolean' || value.every(isAddressOrNetwork), {
    error: 'must be true, false, or a list of addresses and networks such as 10.0.0.0/8',
  });

/** The networks for which Fastify has names. */
const NETWORKS = /^(loopback|linklocal|uniquelocal)$/;

function isAddressOrNetwork(text: string): boolean {
  if (NETWORKS.test(text)) return true;
  const [, address = '', prefix] = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  return bits > 0 && (prefix === undefined || (Number(prefix) >= 1 && Number(prefix) <= bits));
}

const otlpProtocol = z.enum(['http/protobuf', 'http/json'], {
  error: 'must be http/protobuf or http/json: gRPC is not supported',
});

const otlpExporter = z.enum(['otlp', 'none'], { error: 'must be otlp or none' });

const publicKey = z.string().refine(
  (value) => {
    try {
      return createPublicKey(value).type === 'public';
    } catch {
      return false;
    }
  },
  { error: 'must be a public key as PEM' },
);

// Only asymmetric algorithms are allowed. With HMAC, everyone who can verify a token can also create one.
const ALGORITHMS = /^(RS|PS|ES)(256|384|512)$|^EdDSA$/;
const algorithms = z
  .string()
  .transform((value) => value.split(',').map((name) => name.trim()))
  .refine((names) => names.every((name) => ALGORITHMS.test(name)), {
    error: 'must be a list of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA',
  });

/** The access of an admin, least first. Each level also permits everything that the levels before it permit. */
export const ADMIN_ACCESS = ['read_only', 'operate', 'read_write'] as const;
export type AdminAccess = (typeof ADMIN_ACCESS)[number];

/** Parses the access of roles, such as `admins=read_write,support=operate`. */
const roles = z
  .string()
  .transform((value) => value.split(',').map((each) => each.trim().split(/=([^=]*)$/)))
  .refine((pairs) => pairs.every(([role, access]) => role && ADMIN_ACCESS.some((each) => each === access)), {
    error: `must be a list of ROLE=ACCESS, where the access is ${ADMIN_ACCESS.slice(1).reverse().join(', ')} or ${ADMIN_ACCESS[0]}`,
  })
  .transform((pairs) => Object.fromEntries(pairs) as Record<string, AdminAccess>);

const MEBIBYTE = 1024 * 1024;

/** Returns the schema of the variable that sets the default of a setting. */
function settingVariable(setting: Setting): z.ZodType {
  if (!('choices' in setting)) return quantity(setting.unit, 0, setting.max).default(setting.default);
  const choices = Object.keys(setting.choices);
  const error = `must be ${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
  return z.enum(choices, { error }).default(setting.default);
}

const settingVariables = Object.fromEntries(
  ALL_SETTINGS.map(([, setting]) => [setting.variable, settingVariable(setting)]),
) as { [name in keyof SettingVariables]: z.ZodType<SettingVariables[name]> };

/** All variables of the service. docs/configuration.md describes them. */
const environment = z.object({
  HOST: host.default('127.0.0.1'),
  PORT: integer(0, 65535).default(8080),
  PUBLIC_URL: urlWithoutUser.transform((url) => url.replace(/\/+$/, '')).optional(),
  MCP: z.enum(['on', 'off'], { error: 'must be on or off' }).default('on'),
  ADMIN_HOST: host.default('127.0.0.1'),
  ADMIN_PORT: integer(0, 65535).optional(),
  CONSOLE_URL: urlWithoutUser.transform((url) => url.replace(/\/+$/, '')).optional(),
  OIDC_ISSUER: urlWithoutUser.optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_SCOPE: z.string().default('openid profile email'),
  OIDC_ROLES_CLAIM: z.string().default('roles'),
  OIDC_ROLES: roles.prefault('memory-admin=read_write,memory-operator=operate,memory-viewer=read_only'),
  OIDC_SESSION_HOURS: quantity('hours', 1, 168).default(8),
  DATABASE_URL: databaseUrl.optional(),
  DATA_DIR: folder.default('./data'),
  AUTH: z.enum(['none', 'keys', 'jwt'], { error: 'must be none, keys or jwt' }).optional(),
  ALLOW_UNAUTHENTICATED: flag.default(false),
  AUTH_CACHE_SECONDS: quantity('seconds', 1, 30).default(10),
  AUTH_FAILURES_PER_MINUTE: integer(0).default(30),
  JWKS_URL: urlWithoutUser.optional(),
  JWT_PUBLIC_KEY: publicKey.optional(),
  JWT_ISSUER: z.string().optional(),
  JWT_AUDIENCE: z.string().optional(),
  JWT_TENANT_CLAIM: z.string().default('tenant'),
  JWT_ALGORITHMS: algorithms.default(['RS256', 'ES256', 'EdDSA']),
  JWT_CLOCK_SKEW_SECONDS: quantity('seconds', 0, 60).default(5),
  AUTO_CREATE_TENANTS: flag.optional(),
  BOOTSTRAP: z.string().optional(),
  BOOTSTRAP_FILE: z.string().optional(),
  INSTALLATION_SECRET: z.string().min(32, { error: 'must have at least 32 characters' }).optional(),
  TRUST_PROXY: trustedProxies.default(false),
  ...settingVariables,
  /** The limit of the service is always set. Its default depends on `MAX_FILE_BYTES`. */
  MAX_BODY_BYTES: quantity('bytes', 1024, MAX_TEXT_BYTES).optional(),
  IDEMPOTENCY_HOURS: quantity('hours', 1, 8760).default(24),
  MAX_TENANT_STORED_RESULTS: integer(0, 1_000_000_000).default(50_000),
  AUDIT_DAYS: quantity('days', 1, 36_500).default(365),
  USAGE_DAYS: quantity('days', 1, 36_500).default(400),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'must be fatal, error, warn, info, debug, trace or silent',
    })
    .default('info'),
  DB_POOL_MAX: integer(1, 1000).default(10),
  DB_BATCH_SIZE: integer(1, 1000).default(32),
  DB_CONNECT_TIMEOUT_MS: milliseconds(1).default(5000),
  DB_STATEMENT_TIMEOUT_MS: milliseconds(0).default(10_000),
  DB_LOCK_TIMEOUT_MS: milliseconds(0).default(5000),
  DB_IDLE_IN_TRANSACTION_TIMEOUT_MS: milliseconds(0).default(10_000),
  DB_START_TIMEOUT_MS: milliseconds(0).default(15_000),
  REQUEST_TIMEOUT_MS: milliseconds(0).default(30_000),
  HANDLER_TIMEOUT_MS: milliseconds(1).default(20_000),
  MAX_IN_FLIGHT: integer(0).default(64),
  MAX_IN_FLIGHT_PER_TENANT: integer(0).default(32),
  MAX_IN_FLIGHT_BYTES: quantity('bytes', 0).default(128 * MEBIBYTE),
  SEARCH_CACHE_BYTES: quantity('bytes', 0).default(64 * MEBIBYTE),
  MAX_QUEUE_MS: milliseconds(0, 60_000).default(1000),
  TRANSFER_TIMEOUT_MS: milliseconds(1).default(5000),
  KEEP_ALIVE_MS: milliseconds(1000).default(72_000),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: otlpProtocol.default('http/protobuf'),
  OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: otlpProtocol.optional(),
  OTEL_EXPORTER_OTLP_LOGS_PROTOCOL: otlpProtocol.optional(),
  OTEL_TRACES_EXPORTER: otlpExporter.default('otlp'),
  OTEL_LOGS_EXPORTER: otlpExporter.default('otlp'),
  OTEL_SDK_DISABLED: flag.default(false),
  SHUTDOWN_DELAY_MS: milliseconds(0).default(0),
  SHUTDOWN_TIMEOUT_MS: milliseconds(1).default(10_000),
});

/** Returns the URL of the collector for a signal. Undefined if the signal is not exported. */
export function collectorFor(signal: 'TRACES' | 'LOGS', config: Config): string | undefined {
  if (config.OTEL_SDK_DISABLED || config[`OTEL_${signal}_EXPORTER`] === 'none') return undefined;
  return config[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`] ?? config.OTEL_EXPORTER_OTLP_ENDPOINT;
}

export const VARIABLES: readonly string[] = Object.keys(environment.shape);

/** The type, default, and range of a variable, for the reference of settings. */
export interface VariableDescription {
  readonly name: string;
  /** The default as the service uses it. Undefined if the variable has none, or if it depends on other variables. */
  readonly default: unknown;
  /** The values of a choice. */
  readonly choices: readonly string[] | undefined;
  /** The unit and the range of a number. */
  readonly quantity: { readonly unit: Unit; readonly min: number; readonly max: number } | undefined;
}

/** Returns the descriptions of all variables, in the order of `VARIABLES`. */
export function describeVariables(): VariableDescription[] {
  return Object.entries<z.ZodType>(environment.shape).map(([name, schema]) => {
    const { inner, value } = unwrap(schema);
    const start = inner instanceof z.ZodPipe ? inner.in : inner;
    const quantity = z.globalRegistry.get(inner) as VariableDescription['quantity'];
    const choices = start instanceof z.ZodEnum ? start.options.map(String) : undefined;
    return { name, default: value, choices, quantity };
  });
}

/** Returns the schema of the values of a variable, and its default. */
function unwrap(schema: z.ZodType): { inner: z.ZodType; value?: unknown } {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return { inner: schema.unwrap() as z.ZodType, value: schema.def.defaultValue };
  if (schema instanceof z.ZodOptional) return { inner: schema.unwrap() as z.ZodType };
  return { inner: schema };
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
 * Returns problems of the admin listener. `ALLOW_UNAUTHENTICATED` applies only to the main listener, because a proxy
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

/** Returns problems of the sign-in with OpenID Connect, which `OIDC_ISSUER` switches on. */
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
 * Returns the size of the largest body with one file. JSON takes at most six bytes for a byte of the file (`\u0001`),
 * plus some space for the rest of the request.
 */
function bodyLimitFor(maxFileBytes: number): number {
  return maxFileBytes === 0 ? MAX_TEXT_BYTES / 8 : Math.min(6 * maxFileBytes + 65_536, MAX_TEXT_BYTES);
}

/**
 * Lists variables without effect, as lines without values: settings of JSON Web Tokens without `AUTH=jwt`, settings of
 * the sign-in without `OIDC_ISSUER`, and names that resemble an unset variable of the service.
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
 * in a long name. In names of up to five letters, only two exchanged neighbors count, because `HOST` and `PORT`
 * resemble many names.
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
