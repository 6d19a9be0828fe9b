/** A search mode, also for the find over many tenants, in each interface's words. */
interface SearchMode {
  /** The text's meaning, after the mode's name in OpenAPI. */
  input: { search: string; find: string };
  /** The mode in the command line's options. */
  option: { search: string; find: string };
  /** The mode's use, for models. The default mode has another text. */
  use?: string;
  /** Hint for models after a search without matches. */
  hint: (path: string) => string;
  /** Button and hint in the console's form. */
  form: { label: string; hint: string };
  /** Whether a text can be invalid, so that a find compiles it before it starts. */
  compiles?: true;
}

/**
 * Search modes. A new mode is an entry here, and a pattern in `match-lines.ts`. The schemas, the command line, the
 * console, and the MCP and client tools follow.
 */
const entries = {
  words: {
    input: {
      search: 'files with any of the words or their forms, best matches first',
      find: 'versions that contain all of the words, in any form',
    },
    option: {
      search: 'words (any of the words or their forms, best matches first)',
      find: 'words (all of the words or their forms)',
    },
    hint: (path) => `Try other or fewer words, or view ${path} to see what is there.`,
    form: { label: 'Words', hint: 'Versions with all of the words, or their forms.' },
  },
  literal: {
    input: { search: 'this very text', find: 'versions that contain this text' },
    option: {
      search: 'literal (the exact text, case-sensitive)',
      find: 'literal (the text, ignoring case and white space unless --exact is set)',
    },
    use: 'for an exact text',
    hint: () => 'Matching is exact and case-sensitive. Mode `words` is more tolerant.',
    form: {
      label: 'Text',
      hint: 'Compared like a kept-out text: in any case, spacing, grouping of digits, and Unicode form.',
    },
  },
  regex: {
    input: {
      search: 'a regular expression in RE2 syntax, for each line',
      find: 'versions with a line that matches this regular expression in RE2 syntax',
    },
    option: {
      search: 'regex (RE2 syntax, matched line by line, case-sensitive unless it begins with (?i))',
      find: 'regex (RE2 syntax, matched line by line, case-sensitive unless it begins with (?i))',
    },
    use: '(RE2 syntax, line by line) for a pattern',
    hint: () =>
      'The expression is matched line by line, with upper and lower case unless it begins with (?i). Mode words is more tolerant.',
    form: { label: 'Regular expression', hint: 'A regular expression in RE2 syntax, matched line by line.' },
    compiles: true,
  },
} satisfies Record<string, SearchMode>;

export type Mode = keyof typeof entries;
export const MODES: Readonly<Record<Mode, SearchMode>> = entries;

/** A mode that finds lines with a pattern, and sorts files by path. */
export type LineMode = Exclude<Mode, 'words'>;

/** Mode for a search that names none. */
export const DEFAULT_MODE: Mode = 'words';

export const modes = Object.keys(MODES) as [Mode, ...Mode[]];

const formatList = (texts: readonly string[], locale: 'en' | 'en-GB', type: 'conjunction' | 'disjunction') =>
  new Intl.ListFormat(locale, { type }).format(texts);

/** The names, as the error for another mode lists them. */
export const MODE_NAMES = formatList(modes, 'en-GB', 'disjunction');
/** The names of the modes that sort by path, for descriptions. */
export const LINE_MODES = formatList(
  modes.filter((mode) => mode !== 'words').map((mode) => `\`${mode}\``),
  'en',
  'conjunction',
);

/** Returns the modes with the default first, as commands and forms list them. */
export function modesFrom(first: Mode): Mode[] {
  return [first, ...modes.filter((mode) => mode !== first)];
}

/** Describes the field `mode` in OpenAPI. */
export function describeModes(of: 'search' | 'find', defaultMode?: Mode): string {
  return modes
    .map((mode) => `\`${mode}\`${mode === defaultMode ? ' (the default)' : ''}: ${MODES[mode].input[of]}.`)
    .join(' ');
}

/** Describes the option `--mode`. */
export function describeOption(of: 'search' | 'find', first: Mode): string {
  return formatList(
    modesFrom(first).map((mode) => MODES[mode].option[of]),
    'en',
    'disjunction',
  );
}
