import { randomBytes } from 'node:crypto';

const LARGE_BYTES = 900_000;

const range = (from: number, to: number) =>
  String.fromCodePoint(...Array.from({ length: to - from + 1 }, (_, i) => from + i));

/** Any characters but NUL and surrogates, which no file may contain. */
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
  // The same letters composed and not, and marks in either order: nothing may be normalised.
  () => '\u00e9 e\u0301 \ud55c \u1112\u1161\u11ab a\u0323\u0307 a\u0307\u0323 \u{1f469}\u200d\u{1f4bb}',
  () => range(0x01, 0x1f) + range(0x7f, 0x9f),
  () => '\ufeffa byte order mark\u2028\u2029\u00ad\u202e\uffff\u{10ffff}',
  // What means something to COPY, to SQL and to shells.
  () => '\\N\n\\.\n\\\\\t\\x00 $$ $1 \'"` %s %f\n\\.\n',
  () => randomBytes(3000).toString('latin1').replaceAll('\0', '\u0001'),
  () => anyCharacters(3000),
  // Does not compress, so that it is in many pieces beside its row.
  () => randomBytes((LARGE_BYTES / 4) * 3).toString('base64'),
];

const turns = { deleted: 0, kept: 0 };

/** The text of a file, as a backup might spoil it: of each kind in turn, among the files that stay as among the others. */
export function oddText(deletes: boolean): string {
  const turn = turns[deletes ? 'deleted' : 'kept']++;
  return (KINDS[turn % KINDS.length] as () => string)();
}
