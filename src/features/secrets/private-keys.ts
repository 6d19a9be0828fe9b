import type { Finding } from '../../core/memory/secrets/finding.ts';

// RFC 7468; the OpenPGP label (RFC 9580, 6.2) contains BLOCK.
const MARKER = /-----(BEGIN|END) (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g;

/**
 * A line in a real key's body; the shortest body (Ed25519) has 64 characters. Placeholders such as `...` have no such
 * line.
 */
const BODY_LINE = /[A-Za-z0-9+/]{40}/;

// One piece of the body after a BEGIN without an END: base64, white space, or white space escaped in JSON. A single
// expression for all pieces would store a backtracking position for each, and exhaust memory.
const BODY_PIECE = /[A-Za-z0-9+/=]{16,}|\s+|\\[nrt]/y;
const HEADERS = /(?:\s*[A-Za-z-]{3,30}: [^\n]{0,200}\n){1,5}/y;

const SERVICE_ACCOUNT = /"private_key"\s{0,4}:\s{0,4}"$/;

/** A PuTTY key file's first line, and the line before its private part. */
const PUTTY_MARKER = /PuTTY-User-Key-File-\d|Private-Lines: (\d{1,4})/g;
const PUTTY_LINE = /(?:\s|\\[nrt])*[A-Za-z0-9+/=]{1,128}/y;
const PUTTY_MAC = /(?:\s|\\[nr])*Private-(?:MAC|Hash): [0-9a-f]{40,64}/y;
/**
 * Maximum distance from a PuTTY key file's first line to its private part. The comment and the public part are far
 * shorter.
 */
const PUTTY_PUBLIC_CHARACTERS = 8192;

/**
 * Detects private keys in PEM, OpenSSH, and PGP armor, from the BEGIN line to the END line, with any label and headers.
 * Keys in a JSON string, with `\n` for newlines, are included. For a truncated key, the finding covers all text after
 * BEGIN that looks like a key. Keys for PuTTY are covered from their file's first line.
 */
export function findPrivateKeys(text: string): Finding[] {
  const findings: Finding[] = [];
  let open: { start: number; bodyStart: number } | undefined;

  const report = (start: number, bodyStart: number, bodyEnd: number, end: number) => {
    const body = text.slice(bodyStart, bodyEnd);
    if (!BODY_LINE.test(body) || /([A-Za-z0-9+/])\1{39}/.test(body)) return;
    const kind = SERVICE_ACCOUNT.test(text.slice(Math.max(0, start - 30), start))
      ? 'gcp_service_account'
      : 'private_key';
    findings.push({ kind, start, end });
  };
  const reportCutOff = () => {
    if (open === undefined) return;
    const end = findOpenBodyEnd(text, open.bodyStart);
    report(open.start, open.bodyStart, end, end);
  };

  for (const marker of text.matchAll(MARKER)) {
    const end = marker.index + marker[0].length;
    if (marker[1] === 'BEGIN') {
      reportCutOff();
      open = { start: marker.index, bodyStart: end };
    } else if (open !== undefined) {
      report(open.start, open.bodyStart, marker.index, end);
      open = undefined;
    }
  }
  reportCutOff();

  let file = Number.NEGATIVE_INFINITY;
  for (const { 0: marker, 1: lines, index } of text.matchAll(PUTTY_MARKER)) {
    if (lines === undefined) {
      file = index;
      continue;
    }
    const bodyStart = index + marker.length;
    let bodyEnd = bodyStart;
    PUTTY_LINE.lastIndex = bodyEnd;
    for (let line = 0; line < Number(lines) && PUTTY_LINE.test(text); line++) bodyEnd = PUTTY_LINE.lastIndex;
    PUTTY_MAC.lastIndex = bodyEnd;
    const end = PUTTY_MAC.test(text) ? PUTTY_MAC.lastIndex : bodyEnd;
    report(index - file <= PUTTY_PUBLIC_CHARACTERS ? file : index, bodyStart, bodyEnd, end);
    file = Number.NEGATIVE_INFINITY;
  }
  return findings;
}

function findOpenBodyEnd(text: string, start: number): number {
  HEADERS.lastIndex = start;
  const afterHeaders = HEADERS.test(text) ? HEADERS.lastIndex : start;
  let end = afterHeaders;
  BODY_PIECE.lastIndex = end;
  while (BODY_PIECE.test(text)) end = BODY_PIECE.lastIndex;
  return afterHeaders + text.slice(afterHeaders, end).trimEnd().length;
}
