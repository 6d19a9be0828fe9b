/** Characters that folding may change, besides ASCII: Latin, Greek and Cyrillic, punctuation, and forms for compatibility. */
const FOLDABLE = /[\u00a0-\u052f\u1e00-\u206f\u3000\uf900-\ufaff\uff00-\uffef]{1,64}/g;
const MARKS = /[\u0300-\u036f]+/g;

/** Letters that Unicode does not decompose. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
};
const UNDECOMPOSED = /[ßæœøłđðþı]/g;

/** Returns the text without upper case, accents, and forms for compatibility. Its lines stay. */
export function fold(text: string): string {
  return text.toLowerCase().replace(FOLDABLE, foldPart);
}

/** Parts are short, because normalizing takes quadratic time. */
function foldPart(part: string): string {
  return part
    .normalize('NFKD')
    .replace(MARKS, '')
    .replace(UNDECOMPOSED, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFC');
}
