/** Texts that each line matching an expression contains. */
export interface RequiredTexts {
  texts: string[];
  /** Whether the texts are lower-case and the expression ignores case. */
  ignoresCase: boolean;
}

const NONE: RequiredTexts = { texts: [], ignoresCase: false };

/** Shorter texts are in most files. */
const MIN_LENGTH = 3;
/** Longer texts would make `includes` slow for repetitive contents. */
const MAX_LENGTH = 64;

/** Flags for the whole expression. */
const FLAGS = /^\(\?([ims]+)\)/;
/** Syntax that can give the expression's parts another meaning: flags, quoted texts, and codes. */
const UNSUPPORTED = /\(\?(?![:P<])|\\[QExpPC0-9]/;
const QUANTIFIER = /^\{\d+(?:,\d*)?\}/;

/**
 * Returns texts outside groups, classes, and repetitions in a valid RE2 expression. Looking for these texts is much
 * faster than running the expression, so most files need no run.
 */
export function requiredTexts(expression: string): RequiredTexts {
  const flags = FLAGS.exec(expression);
  const ignoresCase = flags?.[1]?.includes('i') ?? false;
  const pattern = expression.slice(flags?.[0].length ?? 0);
  if (UNSUPPORTED.test(pattern)) return NONE;
  const texts: string[] = [];
  let text: string[] = [];
  let depth = 0;
  const end = () => {
    if (depth === 0 && text.length > 0) texts.push(text.join('').slice(0, MAX_LENGTH));
    text = [];
  };
  const characters = Array.from(pattern);
  for (let i = 0; i < characters.length; i++) {
    const character = characters[i] as string;
    const next = characters[i + 1] ?? '';
    if (character === '|' && depth === 0) return NONE;
    if (character === '*' || character === '?' || character === '{') {
      // The character before may occur zero times.
      text.pop();
      end();
      i += Math.max(0, (QUANTIFIER.exec(characters.slice(i, i + 12).join(''))?.[0].length ?? 0) - 1);
    } else if (character === '[') {
      end();
      i = findClassEnd(characters, i);
    } else if (character === '(') {
      end();
      depth++;
    } else if (character === ')') {
      text = [];
      depth--;
    } else if (character === '\\' && /[a-zA-Z]/.test(next)) {
      end();
      i++;
    } else if ('+.^$|'.includes(character)) end();
    else {
      const literal = character === '\\' ? next : character;
      if (character === '\\') i++;
      // Case folding for other characters has exceptions.
      if (ignoresCase && literal > '\x7f') end();
      else text.push(ignoresCase ? literal.toLowerCase() : literal);
    }
  }
  end();
  return { texts: texts.filter(({ length }) => length >= MIN_LENGTH), ignoresCase };
}

/** Finds the bracket that closes the class at `start`, and returns its index. */
function findClassEnd(characters: readonly string[], start: number): number {
  let i = start + 1;
  if (characters[i] === '^') i++;
  // A bracket at the class start is a member.
  if (characters[i] === ']') i++;
  while (i < characters.length && characters[i] !== ']') {
    if (characters[i] === '\\') i++;
    else if (characters[i] === '[' && characters[i + 1] === ':') i = characters.indexOf(']', i);
    i++;
  }
  return i;
}

/** @param bytes size in UTF-8. Without case, only ASCII contents can be excluded. */
export function lacksText(content: string, bytes: number, { texts, ignoresCase }: RequiredTexts): boolean {
  if (texts.length === 0 || (ignoresCase && bytes !== content.length)) return false;
  const searched = ignoresCase ? content.toLowerCase() : content;
  return texts.some((text) => !searched.includes(text));
}
