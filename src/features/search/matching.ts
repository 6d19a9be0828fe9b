import type { Mode } from './modes.ts';

/** Command options that decide how the command's text matches. */
export interface Matching {
  mode: Mode;
  text: string;
  /** Whether a literal text is compared in its normal form, which only `find` does. */
  isNormalized?: boolean;
  ignoresCase?: boolean;
}

/** Names the matching, after a verb such as "Finding". */
export function describeMatching(command: 'search' | 'find', matching: Matching): string {
  const { mode, isNormalized = false } = matching;
  if (mode === 'words')
    return `${command === 'search' ? 'any' : 'all'} of the words or their forms, ignoring case`;
  const comparison = ignoresCase(matching) ? 'ignoring case' : 'case-sensitive';
  if (mode === 'regex') return `the regular expression in each line, ${comparison}`;
  return isNormalized
    ? 'the text, ignoring case, white space, and Unicode forms'
    : `the exact text, ${comparison}`;
}

/** Suggests other options of the command after no match. */
export function hintAfterNoMatch(command: 'search' | 'find', matching: Matching): string {
  const { mode, isNormalized = false } = matching;
  const toWords = '--mode words to find the words or their forms in any order';
  if (mode === 'words')
    return command === 'search'
      ? "Try other words, or --mode regex '(?i)TEXT' to find parts of words."
      : "Try fewer words, or --mode regex '(?i)TEXT' to find parts of words.";
  if (mode === 'regex')
    return ignoresCase(matching)
      ? `An expression matches within one line. Try ${toWords}.`
      : `Begin the expression with (?i) to ignore case, or try ${toWords}.`;
  if (isNormalized) return `Try ${toWords}.`;
  if (command === 'search') return `Try --mode regex '(?i)TEXT' to ignore case, or ${toWords}.`;
  // `search --all` calls `find` with --exact, so the hint names the command with these options.
  return matching.ignoresCase
    ? `Try find without --exact to ignore white space and Unicode forms too, or ${toWords}.`
    : `Try find -i to ignore case, find without --exact to ignore white space too, or ${toWords}.`;
}

function ignoresCase({ mode, text, ignoresCase = false }: Matching): boolean {
  return mode === 'regex' ? /^\(\?[a-z]*i/i.test(text) : ignoresCase;
}
