/**
 * Characters that folding may change, besides ASCII: Latin, Greek, and Cyrillic letters, punctuation, and compatibility
 * forms.
 */
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

/** Returns a text without upper case, accents, and compatibility forms. The number of lines is preserved. */
export function fold(text: string): string {
  return text.toLowerCase().replace(FOLDABLE, foldPart);
}

/** Folds a short part of a text, because normalization takes quadratic time. */
function foldPart(part: string): string {
  return part
    .normalize('NFKD')
    .replace(MARKS, '')
    .replace(UNDECOMPOSED, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFC');
}

/**
 * Folded words of questions and sentences that do not identify a file: English, German, French, Spanish, Italian, and
 * Portuguese. A word that is meaningful in another of these languages is omitted.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after all also am an and any are as at be been before but by can could did do does doing for from had has have having he her
  his how i if in into is it its just me my of on or our she should so some such than that the their them then there these they this
  those to us was we were what when where which who whom whose why will with would you your
  aber als auch auf aus bei bin bis da das dass dem den denn der des die dies diese doch du ein eine einem einen einer eines er es fur
  habe haben hat hatte ich ihr im ist ja kann mein meine mit nach nicht noch nur oder sein seine sich sie sind uber um und uns unser
  unsere vom von vor wann warum was weil welche welcher welches wenn wer wie wir wird wo zu zum zur
  au aux avec ce ces cette comment dans de des donc du elle en est et il je la le les leur leurs lui ma mais mes mon nos notre nous ont
  ou par pas pour qu quand que quel quelle quelles quels qui sa sans ses si son sont sur ta te tu un une vos votre vous
  al como con cual cuales cuando cuanto de del donde el ella ellos en es esta este esto ha hay la las lo los mi mis muy no nos nuestra
  nuestro para pero por porque que quien se ser si sin sobre son su sus tiene una uno y ya
  alla che chi ci come cosa dal dalla dei del della delle di dove e ed gli hanno i il io le lo ma mia mio ne nel nella non nostra nostro
  per perche piu qual quale quali quando quanto questa questo sei sono sua suo sul sulla tra tuo un
  ao as com da das do dos e ela ele em essa esse eu foi isso ja mais meu minha na nao nas no nos nosso o onde os ou para pela pelo por
  qual quais quando quem sao sem seu sua tem um uma voce`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

/** Maximum number of words in a query. Further words are ignored. */
const MAX_WORDS = 32;
/** Maximum length of a word. A longer word is truncated, since the rest hardly distinguishes it. */
const MAX_WORD_LENGTH = 32;

const NO_WORD = /[^\p{L}\p{N}\p{M}]+/u;
/**
 * Scripts without spaces, or with particles attached to words. In these scripts, each pair of characters counts as a
 * word.
 */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;
const ONLY_HIRAGANA = /^\p{Script=Hiragana}+$/u;

export interface Word {
  /** Folded text of the word. */
  text: string;
  stem: string;
  /** Text that every matching word contains, usually at its start. */
  scan: string;
  /** Whether the word matches anywhere in a text, instead of only at word boundaries. */
  isUnspaced: boolean;
}

/** Returns the distinct words of a query. Stop words are omitted, unless the query has no other words. */
export function wordsOf(query: string): Word[] {
  const parts = [...new Set(fold(query).split(NO_WORD).flatMap(partsOf))].filter((part) => part !== '');
  const telling = parts.filter((part) => !STOP_WORDS.has(part) && !/^\p{Script=Latin}$/u.test(part));
  return (telling.length > 0 ? telling : parts).slice(0, MAX_WORDS).map(wordOf);
}

/**
 * Splits a word at the boundaries of scripts without spaces, and splits parts in such a script into pairs of
 * characters.
 */
function partsOf(word: string): string[] {
  const unspaced = word.match(UNSPACED) ?? [];
  const pairs = unspaced.flatMap(pairsOf);
  // Pairs of hiragana are mostly grammar.
  const telling = pairs.filter((pair) => !ONLY_HIRAGANA.test(pair));
  return [...word.split(UNSPACED), ...(telling.length > 0 ? telling : pairs)];
}

function pairsOf(text: string): string[] {
  const characters = Array.from(text);
  if (characters.length < 3) return [text];
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}

function wordOf(part: string): Word {
  const text = part.slice(0, MAX_WORD_LENGTH);
  const isUnspaced = new RegExp(UNSPACED.source, 'u').test(text);
  const shortest = stem(text);
  const isFixed = isUnspaced || text.length < 4 || /\d/.test(text);
  const length = Math.max(
    3,
    Math.min(shortest.length - (shortest.endsWith('i') ? 1 : 0), commonLength(text)),
  );
  return { text, stem: shortest, scan: isFixed ? text : text.slice(0, length), isUnspaced };
}

/** Returns the length of the common prefix that two forms of a word must have. */
function commonLength(word: string): number {
  return Math.max(4, Math.ceil(word.length * 0.7));
}

/** Returns the similarity of a folded token: 1 for the word itself, 0 for no similarity. */
export function similarity(token: string, { text, stem: stemmed }: Word): number {
  if (token === text) return 1;
  if (text.length < 3) return 0;
  if (stem(token) === stemmed) return 0.8;
  if (/\d/.test(text)) return 0;
  if (text.length < 4) return token.startsWith(text) ? 0.2 : 0;
  if (token.startsWith(text) || token.startsWith(stemmed)) return 0.3;
  if (areForms(token, text)) return 0.3;
  return token.includes(text) ? 0.2 : 0;
}

/**
 * Whether two words differ only in their endings, in any language: at most three letters after a long common prefix.
 */
function areForms(one: string, other: string): boolean {
  const longest = Math.max(one.length, other.length);
  let common = 0;
  while (common < longest && one[common] === other[common]) common++;
  return common >= Math.max(commonLength(one), commonLength(other)) && longest - common <= 3;
}

/** Returns the stem of a folded word, by simple rules for English endings. */
export function stem(word: string): string {
  const base = withoutEnding(word);
  // The last vowel may be replaced by an ending: `migrate`, `migrating`; `policy`, `policies`.
  return base.length > 4 && /[ey]$/.test(base) ? base.slice(0, -1) : base;
}

function withoutEnding(word: string): string {
  if (word.length < 4) return word;
  if (/.[^s]ie[sd]$/.test(word)) return `${word.slice(0, -3)}y`;
  if (/(?:x|z|ch|sh|ss)es$/.test(word)) return word.slice(0, -2);
  if (/[^sui]s$/.test(word)) return word.slice(0, -1);
  for (const ending of ['ing', 'ed']) {
    const rest = word.slice(0, -ending.length);
    const isForm = word.endsWith(ending) && rest.length >= 3 && /[aeiouy]/.test(rest) && !rest.endsWith('e');
    if (isForm) return rest.replace(/([bdfglmnprt])\1$/, '$1');
  }
  return word;
}
