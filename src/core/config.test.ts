import { generateKeyPairSync } from 'node:crypto';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { ConfigError, configWarnings, loadConfig } from './config.ts';
import { describeDatabase } from './database/database.ts';

const message = (env: Record<string, string>) => {
  try {
    loadConfig(env);
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
};

it("applies the configuration's defaults, and treats an empty variable as unset", () => {
  expect(loadConfig({ PORT: '', DATABASE_URL: '' })).toMatchObject({
    HOST: '127.0.0.1',
    PORT: 8080,
    DATA_DIR: './data',
    AUTH: 'none',
    MAX_FILE_BYTES: 1048576,
    MAX_VIEW_CHARS: 100000,
    LOG_LEVEL: 'info',
    MAX_BODY_BYTES: 6356992,
  });
});

it('reports every invalid variable in one message', () => {
  expect(message({ PORT: '70000', LOG_LEVEL: 'loud', DB_POOL_MAX: '0', ALLOW_UNAUTHENTICATED: 'yes' })).toBe(
    'The configuration is not valid:\n  PORT must be from 0 to 65535\n  LOG_LEVEL must be fatal, error, warn, info, debug, trace or silent\n  DB_POOL_MAX must be from 1 to 1000\n  ALLOW_UNAUTHENTICATED must be true or false',
  );
});

it("parses sizes, durations, and plain numbers, and converts each to the variable's unit", () => {
  const durations = {
    AUTH_CACHE_SECONDS: '20s',
    IDEMPOTENCY_HOURS: '2d',
    AUDIT_DAYS: '4w',
    REQUEST_TIMEOUT_MS: '1m',
  };
  expect(loadConfig({ ...durations, MAX_IN_FLIGHT_BYTES: '64MB', MAX_QUEUE_MS: '250' })).toMatchObject({
    AUTH_CACHE_SECONDS: 20,
    IDEMPOTENCY_HOURS: 48,
    AUDIT_DAYS: 28,
    REQUEST_TIMEOUT_MS: 60_000,
    MAX_IN_FLIGHT_BYTES: 67_108_864,
    MAX_QUEUE_MS: 250,
  });
  expect(
    message({ AUTH_CACHE_SECONDS: '1m', MAX_BODY_BYTES: '1B', AUDIT_DAYS: '36h', MAX_QUEUE_MS: '1 s' }),
  ).toBe(
    'The configuration is not valid:\n  AUTH_CACHE_SECONDS must be from 1 second to 30 seconds\n  MAX_BODY_BYTES must be from 1 KB to 512 MB\n  AUDIT_DAYS must be a duration of whole days such as 30d, or a whole number of days\n  MAX_QUEUE_MS must be a duration of whole milliseconds such as 5s, or a whole number of milliseconds',
  );
});

it('rejects a public address without authentication', () => {
  const rejection =
    "The configuration is not valid:\n  AUTH none gives everyone who can reach 0.0.0.0 every tenant's memory: set HOST to a loopback address, or ALLOW_UNAUTHENTICATED=true if something in front authenticates";
  expect(message({ HOST: '0.0.0.0', AUTH: 'none' })).toBe(rejection);
  expect(message({ HOST: '0.0.0.0', AUTH: 'none', ALLOW_UNAUTHENTICATED: 'true' })).toBeUndefined();
  for (const HOST of ['127.0.0.1', '127.9.9.9', '::1', 'localhost']) {
    expect(message({ HOST, AUTH: 'none' })).toBeUndefined();
  }
  expect(message({ HOST: '127.0.0.1.example.org', AUTH: 'none' })).toContain('AUTH none');
});

it('keeps the value in DATABASE_URL out of every error', () => {
  expect(message({ DATABASE_URL: 'mysql://ada:secret@host/db' })).not.toContain('secret');
});

const PERCENT_ENCODE =
  'must be a URL like postgres://user:password@host:5432/database; percent-encode the user and the password, such as @ as %40, / as %2F, ? as %3F, # as %23, : as %3A, and % as %25';

it.each([
  'p@ss/w:rd',
  'p@ss?w=rd',
  'p@ss#word',
  'pass/word',
  'pass?word',
  'pass#word',
  '12/34',
  '12?34',
  '12#34',
  'p@12/34',
  '@/@',
])('rejects a DATABASE_URL with the unencoded password %s, without quoting the password', (password) => {
  const read = () => loadConfig({ DATABASE_URL: `postgres://ada:${password}@db.example:5432/memory` });
  expect(read).toThrow(new ConfigError([`DATABASE_URL ${PERCENT_ENCODE}`]));
  const encoded = `postgres://ada:${encodeURIComponent(password)}@db.example:5432/memory`;
  expect(describeDatabase(loadConfig({ DATABASE_URL: encoded }))).toBe(
    'the database at db.example:5432/memory',
  );
});

const NO_USER = 'must be a URL without a user and a password';
const LATE_AT = 'must have no @ after its host; percent-encode the user and the password, such as / as %2F';

it.each([
  ['JWKS_URL', 'https://ada:secret@issuer.example/keys', NO_USER],
  ['PUBLIC_URL', 'https://ada:secret@memory.example', NO_USER],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://ada:se@cr/et@collector:4318', LATE_AT],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://ada:12/secret@collector:4318', LATE_AT],
])('rejects a user and a password in %s without quoting them', (name, value, problem) => {
  expect(() => loadConfig({ [name]: value })).toThrow(new ConfigError([`${name} ${problem}`]));
});

it('rejects a URL as DATA_DIR and an unknown sslmode', () => {
  const url = 'postgres://ada:secret@db.example/memory';
  expect(() => loadConfig({ DATA_DIR: url, DATABASE_URL: `${url}?sslmode=on` })).toThrow(
    new ConfigError([
      'DATABASE_URL must have one of these as sslmode: disable, prefer, require, verify-ca, verify-full, no-verify',
      'DATA_DIR must be a directory; a URL belongs into DATABASE_URL',
    ]),
  );
});

it.each([
  ['statement_timeout', 'DB_STATEMENT_TIMEOUT_MS'],
  ['query_timeout', 'DB_STATEMENT_TIMEOUT_MS'],
  ['lock_timeout', 'DB_LOCK_TIMEOUT_MS'],
  ['idle_in_transaction_session_timeout', 'DB_IDLE_IN_TRANSACTION_TIMEOUT_MS'],
])('rejects a DATABASE_URL with %s and suggests %s', (parameter, variable) => {
  const read = () =>
    loadConfig({ DATABASE_URL: `postgres://db.example/memory?sslmode=disable&${parameter}=0` });
  expect(read).toThrow(
    new ConfigError([`DATABASE_URL must not have the parameter ${parameter}; set ${variable} instead`]),
  );
});

it.each([
  'abc',
  '1',
  '10.0.0.0/0',
  '10.0.0.0/33',
  '::1/129',
  '10.0.0.1,',
  '10.0.0.0/',
  '\u{1f600}',
  'fe80::1%eth0',
])('rejects TRUST_PROXY=%s', (TRUST_PROXY) => {
  expect(message({ TRUST_PROXY })).toBe(
    'The configuration is not valid:\n  TRUST_PROXY must be true, false, or a list of addresses and networks such as 10.0.0.0/8',
  );
});

it.each(['true', 'false', '10.0.0.0/8, ::1', 'fd00::/8', 'loopback,uniquelocal', '::ffff:10.0.0.1'])(
  'accepts TRUST_PROXY=%s, as Fastify does',
  (TRUST_PROXY) => {
    Fastify({ trustProxy: loadConfig({ TRUST_PROXY }).TRUST_PROXY });
  },
);

it("rejects a duration that exceeds a timer's maximum", () => {
  expect(message({ HANDLER_TIMEOUT_MS: '9007199254740991', DB_STATEMENT_TIMEOUT_MS: '25d' })).toBe(
    'The configuration is not valid:\n  DB_STATEMENT_TIMEOUT_MS must be from 0 milliseconds to 2147483647 milliseconds\n  HANDLER_TIMEOUT_MS must be from 1 millisecond to 2147483647 milliseconds',
  );
});

it('rejects AUTH=jwt without a key source and with two key sources', () => {
  const required = { AUTH: 'jwt', JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' };
  const publicKey = generateKeyPairSync('ed25519')
    .publicKey.export({ type: 'spki', format: 'pem' })
    .toString();
  expect(message(required)).toBe(
    'The configuration is not valid:\n  AUTH=jwt requires JWKS_URL or JWT_PUBLIC_KEY',
  );
  expect(message({ ...required, JWKS_URL: 'https://a/jwks', JWT_PUBLIC_KEY: publicKey })).toBe(
    'The configuration is not valid:\n  JWKS_URL and JWT_PUBLIC_KEY must not both be set',
  );
});

const warnings = (env: Record<string, string>) => configWarnings(env, loadConfig(env));

it.each([
  ['SECERTS', 'SECRETS'],
  ['secrets', 'SECRETS'],
  ['DATABSE_URL', 'DATABASE_URL'],
  ['AUHT', 'AUTH'],
  ['PROT', 'PORT'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['TRUST_PROXIES', undefined],
  ['MAX_TENNANT_FILE', 'MAX_TENANT_FILES'],
  ['BOOTSTRAP_FLIE', 'BOOTSTRAP_FILE'],
])('warns about the variable %s and suggests %s', (name, meant) => {
  expect(warnings({ [name]: 'secret' })).toStrictEqual(
    meant === undefined ? [] : [`${name} has no effect. Did you mean ${meant}?`],
  );
});

it('warns about all JWT settings without AUTH=jwt, but only about misspelled ones with AUTH=jwt', () => {
  expect(
    warnings({ JWT_ISSUER: 'https://issuer', JWT_ALGORITHM: 'HS256', JWKS_URI: 'x', JWT_SECRET: 'x' }),
  ).toStrictEqual(['JWT_ISSUER has no effect with AUTH=none; it needs AUTH=jwt.']);
  const tokens = { AUTH: 'jwt', JWKS_URL: 'https://a/jwks', JWT_ISSUER: 'i', JWT_AUDIENCE: 'a' };
  expect(warnings({ ...tokens, JWT_ALGORITHM: 'ES256', JWT_SECRET: 'x' })).toStrictEqual([
    'JWT_ALGORITHM has no effect. Did you mean JWT_ALGORITHMS?',
  ]);
});

it('does not warn about empty or unrelated variables, or about a typo if the correct variable is set', () => {
  const others =
    'PATH HOME HOSTNAME HOSTS host port POST PORTS XAUTH USER SHELL TERM TZ TMP TMPDIR MPC PWD OLDPWD LANG LC_ALL SHLVL _ EDITOR PAGER MAIL DISPLAY LOGNAME ' +
    'npm_config_loglevel npm_package_name NODE_ENV NODE_OPTIONS NODE_VERSION YARN_VERSION PGHOST PGPORT PGPASSWORD PGDATA DB_HOST DB_PORT DB_URL DB_NAME DB_POOL_MIN ' +
    'JWT_SECRET JWT_PRIVATE_KEY JWT_EXPIRES_IN JWT_KEY AUTH_URL AUTH_SECRET AUTH0_DOMAIN PUBLIC_KEY PUBLIC_DIR ADMIN_USER ADMIN_PASSWORD ADMIN_ROOT KUBERNETES_PORT KUBERNETES_SERVICE_HOST ' +
    'MEMORY_SERVICE_PORT MEMORY_SERVICE_SERVICE_HOST MEMORY_SERVICE_URL MEMORY_PORT POSTGRES_PASSWORD REDIS_URL DATABASE_NAME DATABASE_HOST OTEL_SERVICE_NAME ' +
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT OTEL_EXPORTER_OTLP_METRICS_PROTOCOL OTEL_LOG_LEVEL LOG_FORMAT LOG_FILE MAX_OLD_SPACE REQUEST_TIMEOUT HTTP_PROXY NO_PROXY SSH_AUTH_SOCK';
  const env = Object.fromEntries(others.split(' ').map((name) => [name, 'x']));
  expect(warnings({ ...env, SECERTS: '' })).toStrictEqual([]);
  expect(warnings({ SECRETS: 'store', SECERTS: 'mask' })).toStrictEqual([]);
});

it.each([' ', 'http://0.0.0.0', '[::1]', 'x'.repeat(254)])('rejects HOST=%s', (HOST) => {
  expect(message({ HOST })).toContain('  HOST must be an IP address or a host name');
});

const OPEN_ID = {
  AUTH: 'keys',
  ADMIN_PORT: '8081',
  CONSOLE_URL: 'https://memory.example.com/console/',
  OIDC_ISSUER: 'https://id.example.com',
  OIDC_CLIENT_ID: 'memory-console',
  OIDC_CLIENT_SECRET: 'secret',
};

it('parses OIDC_ROLES, and removes the slash at the end of CONSOLE_URL', () => {
  expect(loadConfig(OPEN_ID)).toMatchObject({
    CONSOLE_URL: 'https://memory.example.com/console',
    OIDC_ROLES: { 'memory-admin': 'read_write', 'memory-operator': 'operate', 'memory-viewer': 'read_only' },
  });
  expect(loadConfig({ ...OPEN_ID, OIDC_ROLES: 'a=b=operate, c=read_only' })).toMatchObject({
    OIDC_ROLES: { 'a=b': 'operate', c: 'read_only' },
  });
});

it.each([
  [{ OIDC_CLIENT_ID: '' }, 'OIDC_ISSUER requires OIDC_CLIENT_ID'],
  [{ OIDC_CLIENT_SECRET: '' }, 'OIDC_ISSUER requires OIDC_CLIENT_SECRET'],
  [{ CONSOLE_URL: '' }, 'OIDC_ISSUER requires CONSOLE_URL'],
  [{ ADMIN_PORT: '' }, 'OIDC_ISSUER requires ADMIN_PORT, which serves the console'],
  [{ AUTH: 'none' }, 'OIDC_ISSUER requires AUTH=keys or AUTH=jwt'],
  [{ OIDC_ISSUER: 'http://id.example.com' }, 'OIDC_ISSUER must begin with https://, except on this machine'],
  [{ CONSOLE_URL: 'http://10.0.0.1' }, 'CONSOLE_URL must begin with https://, except on this machine'],
  [
    { OIDC_ROLES: 'admins=all' },
    'OIDC_ROLES must be a list of ROLE=ACCESS, where the access is read_write, operate or read_only',
  ],
])('rejects sign-in settings with %j', (env, problem) => {
  expect(() => loadConfig({ ...OPEN_ID, ...env })).toThrow(new ConfigError([problem]));
});

it('warns about sign-in settings without OIDC_ISSUER', () => {
  const env = { OIDC_CLIENT_ID: 'memory-console' };
  expect(configWarnings(env, loadConfig(env))).toStrictEqual([
    'OIDC_CLIENT_ID has no effect without OIDC_ISSUER.',
  ]);
});
