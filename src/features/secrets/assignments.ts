import {
  type Finding,
  isExamplePassword,
  isPlaceholder,
  type SecretKind,
} from '../../core/memory/secrets/finding.ts';

/*
 * Secrets that are recognizable only by their context: `API_KEY=…`, `password=…;` in a connection string, or HTTP's
 * Authorization header. In each pattern, group 1 is the text before the secret, and group 2 is the secret.
 */

const NAMED =
  /((?:api[_-]?key|api[_-]?secret|api[_-]?token|(?:secret|private|signing|encryption|account|auth)[_-]?key|(?:client|app|consumer|webhook|signing|session|jwt)[_-]?secret|(?:access|auth|refresh|bearer)[_-]?token|passphrase|passwd|password|(?<![A-Za-z0-9_-])(?:secret|token))["'`\]]{0,2}\s{0,3}(?::=|=>|:|=)\s{0,3}["'`]?)([\w+/=.~-]{16,})/gi;

// UPPER_CASE environment variable names with any prefix.
const ENVIRONMENT =
  /(\b[A-Z][A-Z0-9_]{0,60}_(?:TOKEN|SECRET|PASSWORD|PASSWD|PWD|PAT)["']?\s{0,2}[:=]\s{0,2}["'`]?)([\w+/=.~-]{16,})/g;

const AWS_SECRET_KEY =
  /(secret[_\s-]?(?:access[_\s-]?)?key["'`]?\s{0,3}(?::=|=>|:|=|is)\s{0,3}["'`]?)([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi;

const NPMRC = /(:_(?:authToken|auth|password)\s?=\s?"?)([\w+/=.-]{12,})/g;

const BEARER = /(\b(?:Bearer|Token|token)\s{1,2})([\w.+/=~-]{20,})/g;
const BASIC = /(\bBasic\s{1,2})([A-Za-z0-9+/]{8,}={0,2})/g;

// ADO.NET, ODBC, and libpq: `Server=…;Password=…;`, `host=… password=…`. The password's end is certain, so only the
// password is masked.
const KEYWORD_PASSWORD =
  /((?<![.A-Za-z0-9])(?:password|pwd)\s?=\s?)("[^"\n]{4,}"|'[^'\n]{4,}'|\{[^{}\n]{4,128}\}|[^\s;"'&]{4,})/gi;
const KEYWORD_HOST = /\b(?:server|host|hostaddr|data source|addr|address|driver|dbname|database|dsn)\s?=/i;
/**
 * A JDBC, ADO.NET, or ODBC connection string, as opposed to code. Only in a connection string does a password with only
 * letters count, because in code such a text may be an expression.
 */
const CONNECTION_STRING = /\bjdbc:[a-z]|\b(?:server|data source|driver|dsn)\s?=[^;"'\n]{1,128};/i;
const ORACLE_PASSWORD = /(\bjdbc:oracle:[a-z]{3,5}:[^\s/@"']{1,128}\/)([^\s/@"']{4,128})(?=@)/gi;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Detects secrets by the name to which they are assigned, or by their header. */
export function findAssignments(text: string): Finding[] {
  const findings: Finding[] = [];
  const collect = (kind: SecretKind, pattern: RegExp, accept: (secret: string, index: number) => boolean) => {
    for (const match of text.matchAll(pattern)) {
      const start = match.index + (match[1] ?? '').length;
      const secret = match[2] ?? '';
      if ((kind === 'connection_string' || !isPlaceholder(secret)) && accept(secret, match.index)) {
        findings.push({ kind, start, end: start + secret.length });
      }
    }
  };
  collect('generic_secret', NAMED, isGenerated);
  collect('generic_secret', ENVIRONMENT, isGenerated);
  collect('aws_secret_key', AWS_SECRET_KEY, (secret) => /\d/.test(secret) && /[A-Z]/.test(secret));
  collect('npm_token', NPMRC, (secret) => /\d/.test(secret));
  collect('bearer_token', BEARER, isGenerated);
  collect('basic_auth', BASIC, isBasicAuth);
  const namesHost = onSameLine(text, KEYWORD_HOST);
  const isConnection = onSameLine(text, CONNECTION_STRING);
  collect('connection_string', KEYWORD_PASSWORD, (value, index) =>
    isConnection(index) ? isLiteral(value) : isPassword(value) && namesHost(index),
  );
  collect('connection_string', ORACLE_PASSWORD, isLiteral);
  return findings;
}

/**
 * Returns a test for whether the line at an index matches `pattern`. Indices must be ascending, because each line is
 * searched only once.
 */
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

/** Whether the value of `password=` is a password instead of an expression such as `password=settings.DB_PASSWORD`. */
function isPassword(value: string): boolean {
  return isLiteral(value) && (/^["']/.test(value) || /^[^([]*[^\w.([,)]|\d/.test(value));
}

/**
 * Whether a value outside code is a password instead of an example or a placeholder. ODBC quotes with braces, which
 * templates also use.
 */
function isLiteral(value: string): boolean {
  const password = /^["'{]/.test(value) ? value.slice(1, -1) : value;
  const isVariable =
    value.startsWith('{') && !/[^\w.-]|\d/.test(password) && /[_.-]|pass|pwd|secret/i.test(password);
  return !isVariable && !isExamplePassword(password) && !isPlaceholder(password);
}

function isGenerated(value: string): boolean {
  return !UUID.test(value) && (looksRandom(value) || looksScrambled(value));
}

/**
 * Whether a generator probably made the value. One piece must have at least 12 characters, mix letters with digits, and
 * have a high entropy. Names, versions, paths, dates, and UUIDs have no such piece.
 */
function looksRandom(value: string): boolean {
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

/**
 * Whether the case changes too often for words. This recognizes generated letters with few digits, and base64url, which
 * `-` and `_` divide into short pieces. In generated text, half the letters start a new word; in identifiers, words
 * have at least three letters.
 */
function looksScrambled(value: string): boolean {
  const words = value.match(/[A-Z]?[a-z]+|[A-Z]+|\d+/g) ?? [];
  const letters = words.join('');
  const count = (pattern: RegExp) => letters.match(pattern)?.length ?? 0;
  return (
    letters.length >= 16 && count(/[A-Z]/g) >= 3 && count(/[a-z]/g) >= 3 && letters.length < 3 * words.length
  );
}

/** Returns the Shannon entropy in bits per character. */
function entropy(value: string): number {
  const counts = new Map<string, number>();
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length);
  return bits;
}

/** Whether a value is `user:password` in base64 (RFC 7617). */
function isBasicAuth(value: string): boolean {
  return /^[\x20-\x39\x3b-\x7e]*:[\x20-\x7e]{4,}$/.test(Buffer.from(value, 'base64').toString('latin1'));
}
