import { type Finding, isExamplePassword, isPlaceholder } from '../../core/memory/secrets/finding.ts';

/** Characters that end a URL in running text, Markdown, code, and JSON. */
const URL_END = /[\s"'<>`\p{Cc}]/gu;
/**
 * Characters that may follow the host without belonging to the host. A backslash starts an escape sequence in a JSON
 * string.
 */
const AFTER_HOST = /[\\|]/;
/** Punctuation from the surrounding sentence, which does not belong to the URL at its end. */
const CLOSING = ')]},.;:!?*_';

/** Maximum distance between the `@` and a `/`, `?`, or `#` in an unescaped password. */
const PASSWORD_REACH = 256;
const LONGEST_SCHEME = 32;

/**
 * Detects URLs with a password, in any scheme (postgres, mysql, mongodb+srv, redis, amqp, https, …).
 *
 * The whole URL counts as the secret. An unescaped password's end is uncertain, because the password may contain `@`,
 * `/`, or `#`, and the query may contain another password (`?password=`, `sslpassword=`, `sig=`).
 *
 * The following do not count as a password: an empty text, a placeholder (`${PASSWORD}`, `<password>`), fewer than 4
 * characters, the user's name, or a word common in examples.
 */
export function findUrlCredentials(text: string): Finding[] {
  const findings: Finding[] = [];
  let runEnd = 0;
  let searchFrom = 0;
  for (;;) {
    const separator = text.indexOf('://', searchFrom);
    if (separator === -1) return findings;
    const authority = separator + 3;
    searchFrom = authority;
    // Cached, because a run can contain many `://`, and searching its end each time would take quadratic time.
    if (runEnd < authority) runEnd = findRunEnd(text, authority);

    const at = findUserInfoEnd(text, authority, runEnd);
    if (at === undefined) continue;
    const scheme = /[a-z][a-z0-9+.:-]*$/i.exec(
      text.slice(Math.max(0, separator - LONGEST_SCHEME), separator),
    )?.[0];
    if (scheme === undefined || !hasPassword(text.slice(authority, at))) continue;
    const end = findUrlEnd(text, at + 1, runEnd);
    findings.push({
      kind: /^(?:[a-z]+\+)?(?:https?|ftps?)$/i.test(scheme) ? 'basic_auth_url' : 'connection_string',
      start: separator - scheme.length,
      end,
    });
    searchFrom = end;
  }
}

function findRunEnd(text: string, from: number): number {
  URL_END.lastIndex = from;
  return URL_END.exec(text)?.index ?? text.length;
}

/** Finds the `@` that ends user and password, and returns its offset, or undefined. */
function findUserInfoEnd(text: string, start: number, runEnd: number): number | undefined {
  let end = start;
  while (end < runEnd && !'/?#'.includes(text[end] as string)) end++;
  const authority = text.slice(start, end);
  const at = authority.lastIndexOf('@');
  if (at !== -1) return start + at;

  // Drivers accept `user:pa/ss@host`, although that is not a valid URL. `host:8080/@scope` has a port, not a password.
  const colon = authority.indexOf(':');
  if (end === runEnd || colon === -1 || /^\d*$/.test(authority.slice(colon + 1))) return undefined;
  const far = text.slice(end, Math.min(runEnd, end + PASSWORD_REACH)).lastIndexOf('@');
  return far === -1 ? undefined : end + far;
}

function hasPassword(userInfo: string): boolean {
  const colon = userInfo.indexOf(':');
  if (colon === -1) return false;
  const user = userInfo.slice(0, colon);
  const password = userInfo.slice(colon + 1);
  return (
    password.length >= 4 && password !== user && !isExamplePassword(password) && !isPlaceholder(password)
  );
}

function findUrlEnd(text: string, host: number, runEnd: number): number {
  const rest = text.slice(host, runEnd);
  const cut = rest.search(AFTER_HOST);
  let length = cut === -1 ? rest.length : cut;
  // A loop, because `/[…]+$/` takes quadratic time on a long run that other text follows.
  while (length > 0 && CLOSING.includes(rest.charAt(length - 1))) length--;
  return host + length;
}
