import { fold } from '../../core/lib/folding.ts';

/**
 * Folded words from questions and sentences that do not identify a file: English, German, French, Spanish, Italian, and
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

/** Word limit for a query. Further words are ignored. */
const MAX_WORDS = 32;

const WORD = /[\p{L}\p{N}\p{M}]/u;
/**
 * Scripts without spaces, or with particles attached to words. In these scripts, each character pair counts as a word.
 */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]/u;
/** Characters that occur in every script's words, such as digits and marks. */
const SHARED = /[\p{N}\p{sc=Common}\p{sc=Inherited}]/u;
/** Scripts that are told apart. Words in other scripts are told apart from these scripts, but not from each other. */
const SPACED = [/\p{sc=Latin}/u, /\p{sc=Greek}/u, /\p{sc=Cyrillic}/u, /\p{sc=Arabic}/u, /\p{sc=Hebrew}/u];

/** Character classes. All characters in a word have one class; the scripts with spaces share digits and marks. */
const Class = { none: 1, shared: 2, unspaced: 3, otherScript: 4, firstScript: 5 } as const;

const ASCII = 128;
/** Code point classes, computed when a code point first occurs; 0 before that. */
const classes = new Uint8Array(0x110000);

function characterClass(codePoint: number): number {
  const known = classes[codePoint] as number;
  if (known !== 0) return known;
  const found = computeClass(String.fromCodePoint(codePoint));
  classes[codePoint] = found;
  return found;
}

function computeClass(character: string): number {
  if (!WORD.test(character)) return Class.none;
  if (UNSPACED.test(character)) return Class.unspaced;
  const script = SPACED.findIndex((each) => each.test(character));
  if (script >= 0) return Class.firstScript + script;
  return SHARED.test(character) ? Class.shared : Class.otherScript;
}

/** Whether a UTF-16 unit in a folded text is an ASCII letter. */
export const isAsciiLetter = (unit: number) => unit >= 97 && unit <= 122;
const isAsciiWord = (unit: number) => isAsciiLetter(unit) || (unit >= 48 && unit <= 57);

/** Returns the start of the word that has the character at `offset` in a folded text. */
export function findWordStart(text: string, offset: number): number {
  let start = offset;
  while (start > 0 && isAsciiWord(text.charCodeAt(start - 1))) start--;
  const isAscii = text.charCodeAt(offset) < ASCII && (start === 0 || text.charCodeAt(start - 1) < ASCII);
  return isAscii ? start : startByScripts(text, offset);
}

function startByScripts(text: string, offset: number): number {
  let start = offset;
  let script = characterClass(text.codePointAt(offset) as number);
  // Start without shared characters, which belong to the script before them.
  let ownStart = offset;
  while (start > 0) {
    const before = start - (isLowSurrogate(text, start - 1) ? 2 : 1);
    const found = characterClass(text.codePointAt(before) as number);
    const joined = found === script && found !== Class.none ? found : joinedClass(found, script);
    if (joined === undefined) return found > Class.unspaced ? ownStart : start;
    script = joined;
    start = before;
    if (found !== Class.shared) ownStart = before;
  }
  return start;
}

/**
 * Returns the end of the word that starts at `start` in a folded text; `start` if no word starts there.
 *
 * @param known offset up to which the word contains only Latin letters and digits, to save time
 */
export function findWordEnd(text: string, start: number, known = start): number {
  let end = known;
  while (end < text.length && isAsciiWord(text.charCodeAt(end))) end++;
  return end === text.length || text.charCodeAt(end) < ASCII ? end : endByScripts(text, start);
}

function endByScripts(text: string, start: number): number {
  let script = characterClass(text.codePointAt(start) as number);
  let end = start;
  while (end < text.length) {
    const codePoint = text.codePointAt(end) as number;
    const found = characterClass(codePoint);
    if (found !== script || found === Class.none) {
      const joined = joinedClass(script, found);
      if (joined === undefined) break;
      script = joined;
    }
    end += codePoint > 0xffff ? 2 : 1;
  }
  return end;
}

/** Returns the class for two neighbors in a word; undefined if a word ends between them. */
function joinedClass(one: number, other: number): number | undefined {
  if (one === other) return one === Class.none ? undefined : one;
  if (one === Class.shared && other > Class.unspaced) return other;
  return other === Class.shared && one > Class.unspaced ? one : undefined;
}

function isLowSurrogate(text: string, offset: number): boolean {
  return (text.charCodeAt(offset) & 0xfc00) === 0xdc00 && offset > 0;
}

const ONLY_HIRAGANA = /^\p{Script=Hiragana}+$/u;

export interface Word {
  /** The word's folded text. */
  text: string;
  stem: string;
  /** Text that every matching word contains, usually at its start. */
  scan: string;
  /** Whether the word matches anywhere in a text, instead of only at word boundaries. */
  isUnspaced: boolean;
}

/** Returns a query's distinct words. Stop words are omitted, unless the query has no other words. */
export function queryWords(query: string): Word[] {
  const parts = [...new Set(splitTokens(fold(query)).flatMap(wordParts))];
  const telling = parts.filter((part) => !STOP_WORDS.has(part) && !/^\p{Script=Latin}$/u.test(part));
  return (telling.length > 0 ? telling : parts).slice(0, MAX_WORDS).map(toWord);
}

/** Splits a folded text into words. A word ends where the script changes. */
function splitTokens(text: string): string[] {
  const tokens: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = findWordEnd(text, at);
    if (end > at) tokens.push(text.slice(at, end));
    at = end > at ? end : at + ((text.codePointAt(at) as number) > 0xffff ? 2 : 1);
  }
  return tokens;
}

/** Splits a word in a script without spaces into character pairs. */
function wordParts(word: string): string[] {
  if (!UNSPACED.test(word)) return [word];
  const pairs = letterPairs(word);
  // Hiragana pairs are mostly grammar.
  const telling = pairs.filter((pair) => !ONLY_HIRAGANA.test(pair));
  return telling.length > 0 ? telling : pairs;
}

function letterPairs(text: string): string[] {
  const characters = Array.from(text);
  if (characters.length < 3) return [text];
  return characters.slice(1).map((character, i) => `${characters[i]}${character}`);
}

function toWord(text: string): Word {
  const isUnspaced = UNSPACED.test(text);
  const shortest = stem(text);
  const isFixed = isUnspaced || text.length < 4 || /\d/.test(text);
  const length = Math.max(
    3,
    Math.min(shortest.length - (shortest.endsWith('i') ? 1 : 0), commonLength(text)),
  );
  return { text, stem: shortest, scan: isFixed ? text : text.slice(0, length), isUnspaced };
}

/** Returns the common prefix length that two forms of a word must have. */
function commonLength(word: string): number {
  return Math.max(4, Math.ceil(word.length * 0.7));
}

/** Returns a folded token's similarity: 1 for the word itself, 0 for no similarity. */
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

/** Returns a folded word's stem, by simple rules for English endings. */
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
