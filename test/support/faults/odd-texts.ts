import { randomBytes } from 'node:crypto';

const LARGE_BYTES = 900_000;

const range = (from: number, to: number) =>
  String.fromCodePoint(...Array.from({ length: to - from + 1 }, (_, i) => from + i));

/** Returns random characters except NUL and surrogates, which files cannot contain. */
function anyCharacters(length: number): string {
  const bytes = randomBytes(3 * length);
  return Array.from({ length }, (_, i) => {
    const code = 1 + (bytes.readUIntBE(3 * i, 3) % 0x10ffff);
    return String.fromCodePoint(code >= 0xd800 && code <= 0xdfff ? code + 0x800 : code);
  }).join('');
}

const KINDS: (() => string)[] = [
  () => '',
  () => 'one\r\ntwo\r\n\rthree\n\n \t\n',
  // Composed and decomposed letters, and combining marks in either order, which must not be normalized.
  () => '\u00e9 e\u0301 \ud55c \u1112\u1161\u11ab a\u0323\u0307 a\u0307\u0323 \u{1f469}\u200d\u{1f4bb}',
  () => range(0x01, 0x1f) + range(0x7f, 0x9f),
  () => '\ufeffa byte order mark\u2028\u2029\u00ad\u202e\uffff\u{10ffff}',
  // Sequences with a meaning in COPY, SQL, or a shell.
  () => '\\N\n\\.\n\\\\\t\\x00 $$ $1 \'"` %s %f\n\\.\n',
  () => randomBytes(3000).toString('latin1').replaceAll('\0', '\u0001'),
  () => anyCharacters(3000),
  // Incompressible, so that Postgres stores it out of line in many chunks.
  () => randomBytes((LARGE_BYTES / 4) * 3).toString('base64'),
];

const turns = { deleted: 0, kept: 0 };

/** Returns a text that a faulty backup might corrupt. Kept and deleted files each use all kinds in turn. */
export function oddText(deletes: boolean): string {
  const turn = turns[deletes ? 'deleted' : 'kept']++;
  return (KINDS[turn % KINDS.length] as () => string)();
}
