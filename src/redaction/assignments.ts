import { type Finding, isExamplePassword, isPlaceholder } from './finding.ts';
import type { SecretKind } from './kinds.ts';

/*
 * Secrets that only their surroundings give away: `API_KEY=…`, `password=…;` in a connection string, HTTP's
 * Authorization header. In each pattern group 1 is what comes before the secret, group 2 the secret.
 */

const NAMED =
  /((?:api[_-]?key|api[_-]?secret|api[_-]?token|(?:secret|private|signing|encryption|account|auth)[_-]?key|(?:client|app|consumer|webhook|signing|session|jwt)[_-]?secret|(?:access|auth|refresh|bearer)[_-]?token|passphrase|passwd|password|(?<![A-Za-z0-9_-])(?:secret|token))["'`\]]{0,2}\s{0,3}(?::=|=>|:|=)\s{0,3}["'`]?)([\w+/=.~-]{16,})/gi;

// UPPER_CASE names of environment variables, whatever they start with.
const ENVIRONMENT =
  /(\b[A-Z][A-Z0-9_]{0,60}_(?:TOKEN|SECRET|PASSWORD|PASSWD|PWD|PAT)["']?\s{0,2}[:=]\s{0,2}["'`]?)([\w+/=.~-]{16,})/g;

const AWS_SECRET_KEY =
  /(secret[_\s-]?(?:access[_\s-]?)?key["'`]?\s{0,3}(?::=|=>|:|=|is)\s{0,3}["'`]?)([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi;

const NPMRC = /(:_(?:authToken|auth|password)\s?=\s?"?)([\w+/=.-]{12,})/g;

const BEARER = /(\b(?:Bearer|Token|token)\s{1,2})([\w.+/=~-]{20,})/g;
const BASIC = /(\bBasic\s{1,2})([A-Za-z0-9+/]{8,}={0,2})/g;

// ADO.NET, ODBC and libpq: `Server=…;Password=…;`, `host=… password=…`. Its end is certain, so that only it is masked.
const KEYWORD_PASSWORD = /((?<![.A-Za-z0-9])(?:password|pwd)=)("[^"\n]{4,}"|'[^'\n]{4,}'|[^\s;"'&]{4,})/gi;
const KEYWORD_HOST = /\b(?:server|host|hostaddr|data source|addr|address|driver|dbname|database|dsn)\s?=/i;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Detects secrets by the name they are assigned to or the header they are in. */
export function findAssignments(text: string): Finding[] {
  const findings: Finding[] = [];
  const collect = (kind: SecretKind, pattern: RegExp, accept: (secret: string, index: number) => boolean) => {
    for (const match of text.matchAll(pattern)) {
      const start = match.index + (match[1] ?? '').length;
      const secret = match[2] ?? '';
      if (!isPlaceholder(secret) && accept(secret, match.index)) {
        findings.push({ kind, start, end: start + secret.length });
      }
    }
  };
  collect('generic_secret', NAMED, looksRandom);
  collect('generic_secret', ENVIRONMENT, looksRandom);
  collect('aws_secret_key', AWS_SECRET_KEY, (secret) => /\d/.test(secret) && /[A-Z]/.test(secret));
  collect('npm_token', NPMRC, (secret) => /\d/.test(secret));
  collect('bearer_token', BEARER, looksRandom);
  collect('basic_auth', BASIC, isBasicAuth);
  const namesHost = onSameLine(text, KEYWORD_HOST);
  collect('connection_string', KEYWORD_PASSWORD, (value, index) => isPassword(value) && namesHost(index));
  return findings;
}

/** Returns a test for whether the line at an index matches `pattern`. Call it with ascending indices: each line is searched once. */
function onSameLine(text: string, pattern: RegExp): (index: number) => boolean {
  let lineEnd = -1;
  let found = false;
  return (index) => {
    if (index > lineEnd) {
      const lineStart = text.lastIndexOf('\n', index) + 1;
      lineEnd = text.indexOf('\n', index);
      if (lineEnd === -1) lineEnd = text.length;
      found = pattern.test(text.slice(lineStart, lineEnd));
    }
    return found;
  };
}

/** Whether the value of `password=` is a password, and not an expression in a program: `password=settings.DB_PASSWORD`. */
function isPassword(value: string): boolean {
  const quoted = /^["']/.test(value);
  const password = quoted ? value.slice(1, -1) : value;
  return (
    !isExamplePassword(password) &&
    !isPlaceholder(password) &&
    (quoted || /^[^([]*[^\w.([,)]|\d/.test(password))
  );
}

/**
 * Whether a value was made by a generator rather than by a person: one piece of it is at least 12 characters long, mixes
 * letters with digits, and repeats itself no more than chance does. Names, versions, paths, dates and UUIDs have no
 * such piece.
 */
function looksRandom(value: string): boolean {
  if (UUID.test(value)) return false;
  return value
    .split(/[-_./=+~]/)
    .some(
      (piece) =>
        piece.length >= 12 &&
        (piece.match(/\d/g)?.length ?? 0) >= 2 &&
        (piece.match(/[A-Za-z]/g)?.length ?? 0) >= 2 &&
        /\d[A-Za-z]+\d|[A-Za-z]\d+[A-Za-z]/.test(piece) &&
        entropy(piece) >= 2.9,
    );
}

/** Shannon entropy in bits per character. */
function entropy(value: string): number {
  const counts = new Map<string, number>();
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}

/** RFC 7617: base64 of `user:password`. */
function isBasicAuth(value: string): boolean {
  return /^[\x20-\x39\x3b-\x7e]*:[\x20-\x7e]{4,}$/.test(Buffer.from(value, 'base64').toString('latin1'));
}
