import { type Finding, isExamplePassword, isPlaceholder } from './finding.ts';

/** What ends a URL in running text, Markdown, code and JSON. */
const URL_END = /[\s"'<>`\p{Cc}]/gu;
/** What may stand after the host and is not part of it; a backslash starts an escaped character of a JSON string. */
const AFTER_HOST = /[\\|]/;
/** Punctuation of the sentence around a URL, no part of it where it ends. */
const CLOSING = ')]},.;:!?*_';

/** How far behind a `/`, `?` or `#` in an unescaped password the `@` may be. */
const PASSWORD_REACH = 256;
const LONGEST_SCHEME = 32;

/**
 * URLs with a password, of any scheme (postgres, mysql, mongodb+srv, redis, amqp, https, …).
 *
 * The whole URL is the secret, not the password alone: where an unescaped password ends cannot be told for certain (it
 * may hold `@`, `/` or `#`), and the query may hold a second one (`?password=`, `sslpassword=`, `sig=`).
 *
 * No password: none at all, a placeholder (`${PASSWORD}`, `<password>`), under 4 characters, the user's name again, or
 * a word that examples use.
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
    // Cached: many `://` can be in one run, and finding its end each time would take quadratic time.
    if (runEnd < authority) runEnd = endOfRun(text, authority);

    const at = endOfUserInfo(text, authority, runEnd);
    if (at === undefined) continue;
    const scheme = /[a-z][a-z0-9+.:-]*$/i.exec(
      text.slice(Math.max(0, separator - LONGEST_SCHEME), separator),
    )?.[0];
    if (scheme === undefined || !hasPassword(text.slice(authority, at))) continue;
    const end = endOfUrl(text, at + 1, runEnd);
    findings.push({
      kind: /^(?:[a-z]+\+)?(?:https?|ftps?)$/i.test(scheme) ? 'basic_auth_url' : 'connection_string',
      start: separator - scheme.length,
      end,
    });
    searchFrom = end;
  }
}

function endOfRun(text: string, from: number): number {
  URL_END.lastIndex = from;
  return URL_END.exec(text)?.index ?? text.length;
}

/** The offset of the `@` that ends user and password, else undefined. */
function endOfUserInfo(text: string, start: number, runEnd: number): number | undefined {
  let end = start;
  while (end < runEnd && !'/?#'.includes(text[end] as string)) end++;
  const authority = text.slice(start, end);
  const at = authority.lastIndexOf('@');
  if (at !== -1) return start + at;

  // `user:pa/ss@host`: no URL as it stands, but drivers take it. `host:8080/@scope` is none: that is a port.
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

function endOfUrl(text: string, host: number, runEnd: number): number {
  const rest = text.slice(host, runEnd);
  const cut = rest.search(AFTER_HOST);
  let length = cut === -1 ? rest.length : cut;
  // A loop, because `/[…]+$/` takes quadratic time on a long run that something else follows.
  while (length > 0 && CLOSING.includes(rest.charAt(length - 1))) length--;
  return host + length;
}
