/* Schemas for environment variables. Their metadata describes the values in docs/settings.md. */
import { createPublicKey } from 'node:crypto';
import { isIP } from 'node:net';
import { z } from 'zod';
import { expectedQuantity, formatQuantity, parseQuantity, type Unit } from './lib/units.ts';

/** A schema's metadata: a number's unit and range, or a text's values in words. */
export type ValueMeta = { unit: Unit; min: number; max: number } | { form: string };

/** Parses a number from a text of digits, optionally with a unit, such as `10MB` or `5s`. */
export const quantity = (unit: Unit, min: number, max: number = Number.MAX_SAFE_INTEGER) =>
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

export const integer = (min: number, max?: number) => quantity('things', min, max);
/** Maximum time for a timer in Node and for a timeout in Postgres. A longer timer in Node fires immediately. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
export const milliseconds = (min: number, max = MAX_TIMER_MS) => quantity('milliseconds', min, max);

export const flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((value) => value === 'true');

/**
 * The service finds out whether the address is available when it starts listening. `%` begins the zone in an IPv6
 * address.
 */
export const host = z
  .string()
  .regex(/^[\p{L}\p{N}_.:%-]{1,253}$/u, { error: 'must be an IP address or a host name' })
  .meta({ form: 'an IP address or a host name' });

export const httpUrl = z
  .string()
  .refine((value) => /^https?:\/\//.test(value) && URL.canParse(value), { error: 'must be an http(s) URL' })
  // Rejects a password that ends the host early with a character such as `/`. Messages would show a part of the
  // password as the host.
  .refine((value) => !/\/\/[^/?#\\]*[/?#\\].*@/s.test(value), {
    error: 'must have no @ after its host; percent-encode the user and the password, such as / as %2F',
  })
  .meta({ form: 'an http or https URL' });

const URL_WITHOUT_USER = 'an http or https URL without a user and a password';

/** Rejects a user and a password, because requests to the URL would omit them. */
export const urlWithoutUser = httpUrl
  .refine((value) => !/\/\/[^/?#\\]*@/.test(value), {
    error: 'must be a URL without a user and a password',
  })
  .meta({ form: URL_WITHOUT_USER });

/** Removes slashes at the end, so that paths can be appended. */
export const baseUrl = urlWithoutUser
  .transform((url) => url.replace(/\/+$/, ''))
  .meta({ form: URL_WITHOUT_USER });

export const text = (form: string) => z.string().meta({ form });

/** `DATABASE_URL` parameters that would replace one of the service's settings, with the setting's variable. */
const TIME_LIMITS: Record<string, string> = {
  statement_timeout: 'DB_STATEMENT_TIMEOUT_MS',
  query_timeout: 'DB_STATEMENT_TIMEOUT_MS',
  lock_timeout: 'DB_LOCK_TIMEOUT_MS',
  idle_in_transaction_session_timeout: 'DB_IDLE_IN_TRANSACTION_TIMEOUT_MS',
};

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/** Returns the problem with a `DATABASE_URL`, without any part of the URL, or undefined. */
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

export const databaseUrl = z
  .string()
  .superRefine((value, context) => {
    const problem = describeDatabaseUrl(value);
    if (problem !== undefined) context.addIssue(problem);
  })
  .meta({ form: 'a Postgres URL' });

/**
 * Whether a text that should be a directory is a URL, possibly a misspelled one. Messages must not show its password.
 */
export function looksLikeUrl(text: string): boolean {
  // A Windows path's drive letter is removed before the check.
  return /:\/\/|:.*@/s.test(text.replace(/^[a-z]:\\/i, ''));
}

export const directory = z
  .string()
  .refine((value) => !looksLikeUrl(value), { error: 'must be a directory; a URL belongs into DATABASE_URL' })
  .meta({ form: 'a directory' });

/** Parses `true`, `false`, or a list of proxy addresses and networks. */
export const trustedProxies = z
  .string()
  .transform((value) =>
    /^(true|false)$/.test(value) ? value === 'true' : value.split(',').map((each) => each.trim()),
  )
  .refine((value) => typeof value === 'boolean' || value.every(isAddressOrNetwork), {
    error: 'must be true, false, or a list of addresses and networks such as 10.0.0.0/8',
  })
  .meta({ form: '`true`, `false`, or addresses and networks, separated by commas' });

/** The networks for which Fastify has names. */
const NETWORKS = /^(loopback|linklocal|uniquelocal)$/;

function isAddressOrNetwork(text: string): boolean {
  if (NETWORKS.test(text)) return true;
  const [, address = '', prefix] = /^([\da-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  return bits > 0 && (prefix === undefined || (Number(prefix) >= 1 && Number(prefix) <= bits));
}

/** Parses networks such as `10.0.0.0/8`. A single address is a network with one address. */
export const networks = z
  .string()
  .transform((value) => value.split(',').map((each) => each.trim()))
  .refine((value) => value.every((each) => isAddressOrNetwork(each) && !NETWORKS.test(each)), {
    error: 'must be a list of addresses and networks such as 10.0.0.0/8',
  })
  .meta({ form: 'addresses and networks, separated by commas' });

export const otlpProtocol = z.enum(['http/protobuf', 'http/json'], {
  error: 'must be http/protobuf or http/json: gRPC is not supported',
});

export const otlpExporter = z.enum(['otlp', 'none'], { error: 'must be otlp or none' });

export const publicKey = z
  .string()
  .refine(
    (value) => {
      try {
        return createPublicKey(value).type === 'public';
      } catch {
        return false;
      }
    },
    { error: 'must be a public key as PEM' },
  )
  .meta({ form: 'a public key as PEM' });

// Only asymmetric algorithms are allowed. With HMAC, everyone who can verify a token can also create one.
const ALGORITHMS = /^(RS|PS|ES)(256|384|512)$|^EdDSA$/;
export const algorithms = z
  .string()
  .transform((value) => value.split(',').map((name) => name.trim()))
  .refine((names) => names.every((name) => ALGORITHMS.test(name)), {
    error: 'must be a list of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA',
  })
  .meta({ form: 'asymmetric algorithms, separated by commas' });

/** An admin's access, least first. Each level also permits everything that the levels before it permit. */
export const ADMIN_ACCESS = ['read_only', 'operate', 'read_write'] as const;
export type AdminAccess = (typeof ADMIN_ACCESS)[number];

/** Parses the access for roles, such as `admins=read_write,support=operate`. */
export const roles = z
  .string()
  .transform((value) => value.split(',').map((each) => each.trim().split(/=([^=]*)$/)))
  .refine((pairs) => pairs.every(([role, access]) => role && ADMIN_ACCESS.some((each) => each === access)), {
    error: `must be a list of ROLE=ACCESS, where the access is ${ADMIN_ACCESS.slice(1).reverse().join(', ')} or ${ADMIN_ACCESS[0]}`,
  })
  .transform((pairs) => Object.fromEntries(pairs) as Record<string, AdminAccess>)
  .meta({ form: 'a list of `ROLE=ACCESS`, separated by commas' });
