import { z } from 'zod';

/** A configuration that cannot be used. Its message names every variable that is wrong, and never a value's secret. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** An integer from the environment, which only holds strings. */
const integer = (min: number, max: number = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((n) => n >= min && n <= max, {
      error: max === Number.MAX_SAFE_INTEGER ? `must be at least ${min}` : `must be from ${min} to ${max}`,
    });

const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');

const MEBIBYTE = 1024 * 1024;
// The size of an integer column; Postgres holds no text over 1 GiB anyway.
const MAX_TEXT_BYTES = 512 * MEBIBYTE;

/** Every variable that the service reads; the README's table lists them with their meanings. */
const environment = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: integer(0, 65535).default(8080),
  DATABASE_URL: z
    .string()
    .refine((value) => /^postgres(ql)?:\/\//.test(value) && URL.canParse(value), {
      error: 'must be a URL like postgres://user:password@host:5432/database',
    })
    .optional(),
  DATA_DIR: z.string().default('./data'),
  AUTH: z.enum(['none'], { error: 'must be none' }).default('none'),
  ALLOW_UNAUTHENTICATED: flag.default(false),
  MAX_FILE_BYTES: integer(0, MAX_TEXT_BYTES).default(MEBIBYTE),
  MAX_VIEW_CHARS: integer(0).default(100_000),
  MAX_BODY_BYTES: integer(1024, MAX_TEXT_BYTES).optional(),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
      error: 'must be fatal, error, warn, info, debug, trace or silent',
    })
    .default('info'),
  DB_POOL_MAX: integer(1, 1000).default(10),
  DB_CONNECT_TIMEOUT_MS: integer(1).default(5000),
  DB_STATEMENT_TIMEOUT_MS: integer(0).default(15_000),
  DB_LOCK_TIMEOUT_MS: integer(0).default(5000),
  DB_IDLE_IN_TRANSACTION_TIMEOUT_MS: integer(0).default(10_000),
  DB_START_TIMEOUT_MS: integer(0).default(15_000),
  REQUEST_TIMEOUT_MS: integer(0).default(30_000),
  SHUTDOWN_DELAY_MS: integer(0).default(0),
  SHUTDOWN_TIMEOUT_MS: integer(1).default(10_000),
});

export type Config = Readonly<ReturnType<typeof loadConfig>>;

/**
 * Reads the configuration from environment variables; an empty one counts as unset.
 *
 * @throws ConfigError naming every variable that is wrong.
 */
export function loadConfig(env: Readonly<Record<string, string | undefined>>) {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    throw new ConfigError(
      formatProblems(parsed.error.issues.map(({ path, message }) => `${String(path[0])} ${message}`)),
    );
  }
  const values = parsed.data;
  const problems: string[] = [];
  if (values.AUTH === 'none' && !isLoopback(values.HOST) && !values.ALLOW_UNAUTHENTICATED) {
    problems.push(
      `AUTH none gives everyone who can reach ${values.HOST} every tenant's memory: set HOST to a loopback address, or ALLOW_UNAUTHENTICATED=true if something in front authenticates`,
    );
  }
  if (problems.length > 0) throw new ConfigError(formatProblems(problems));
  return { ...values, MAX_BODY_BYTES: values.MAX_BODY_BYTES ?? bodyLimitFor(values.MAX_FILE_BYTES) };
}

/** True for addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * A body with a file of the largest size, however its JSON spells it: at worst six bytes for one (`\u0001`),
 * and some room for the rest of the request.
 */
function bodyLimitFor(maxFileBytes: number): number {
  return maxFileBytes === 0 ? MAX_TEXT_BYTES / 8 : Math.min(6 * maxFileBytes + 65_536, MAX_TEXT_BYTES);
}

function formatProblems(problems: string[]): string {
  return `The configuration is not valid:\n${problems.map((problem) => `  ${problem}`).join('\n')}`;
}
