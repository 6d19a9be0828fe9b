import { expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../../src/config.ts';
import { describeDatabase } from '../../src/postgres/database.ts';

const message = (env: Record<string, string>) => {
  try {
    loadConfig(env);
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
};

it('applies defaults and treats an empty variable as unset', () => {
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

it('names every invalid variable in one message', () => {
  expect(message({ PORT: '70000', LOG_LEVEL: 'loud', DB_POOL_MAX: '0', ALLOW_UNAUTHENTICATED: 'yes' })).toBe(
    'The configuration is not valid:\n  PORT must be from 0 to 65535\n  ALLOW_UNAUTHENTICATED must be true or false\n  LOG_LEVEL must be fatal, error, warn, info, debug, trace or silent\n  DB_POOL_MAX must be from 1 to 1000',
  );
});

it('takes sizes and durations, and numbers in the unit of the variable', () => {
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

it('refuses to listen on a public address without authentication', () => {
  const refusal =
    "The configuration is not valid:\n  AUTH none gives everyone who can reach 0.0.0.0 every tenant's memory: set HOST to a loopback address, or ALLOW_UNAUTHENTICATED=true if something in front authenticates";
  expect(message({ HOST: '0.0.0.0', AUTH: 'none' })).toBe(refusal);
  expect(message({ HOST: '0.0.0.0', AUTH: 'none', ALLOW_UNAUTHENTICATED: 'true' })).toBeUndefined();
  for (const HOST of ['127.0.0.1', '127.9.9.9', '::1', 'localhost']) {
    expect(message({ HOST, AUTH: 'none' })).toBeUndefined();
  }
  expect(message({ HOST: '127.0.0.1.example.org', AUTH: 'none' })).toContain('AUTH none');
});

it('never includes the value of DATABASE_URL in an error', () => {
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
])('rejects a DATABASE_URL whose password %s ends the host early, and shows no part of it', (password) => {
  const read = () => loadConfig({ DATABASE_URL: `postgres://ada:${password}@db.example:5432/memory` });
  expect(read).toThrow(new ConfigError(`The configuration is not valid:\n  DATABASE_URL ${PERCENT_ENCODE}`));
  const encoded = `postgres://ada:${encodeURIComponent(password)}@db.example:5432/memory`;
  expect(describeDatabase(loadConfig({ DATABASE_URL: encoded }))).toBe(
    'the database at db.example:5432/memory',
  );
});

it.each([
  ['JWKS_URL', 'https://ada:secret@issuer.example/keys'],
  ['PUBLIC_URL', 'https://ada:secret@memory.example'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://ada:se@cr/et@collector:4318'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'http://ada:12/secret@collector:4318'],
])('rejects a user and a password in %s, and shows neither', (name, value) => {
  expect(() => loadConfig({ [name]: value })).toThrow(
    new ConfigError(
      `The configuration is not valid:\n  ${name} must be a URL without a user, a password, and an @`,
    ),
  );
});

it('rejects a URL as DATA_DIR, and an unknown sslmode', () => {
  const url = 'postgres://ada:secret@db.example/memory';
  expect(() => loadConfig({ DATA_DIR: url, DATABASE_URL: `${url}?sslmode=on` })).toThrow(
    new ConfigError(
      'The configuration is not valid:\n  DATABASE_URL must have one of these as sslmode: disable, prefer, require, verify-ca, verify-full, no-verify\n  DATA_DIR must be a folder; a URL belongs into DATABASE_URL',
    ),
  );
});
