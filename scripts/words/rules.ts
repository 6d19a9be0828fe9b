/* Rules from docs/writing.md that a program can check. */

/** A rule violation in one sentence. */
export interface Hit {
  rule: Rule['name'];
  /** The part of the sentence that violates the rule. */
  found: string;
  advice: string;
}

export interface Rule {
  name: string;
  /** Whether any directory may have an allowance. The other rules allow findings only in texts that predate them. */
  soft?: true;
  advice: string;
  /** Returns the part of the sentence that violates the rule. */
  find(sentence: Sentence): string | undefined;
}

export interface Sentence {
  text: string;
  /**
   * Whether texts of this kind start in lower case, as test titles do. If so, the first word is matched
   * case-insensitively.
   */
  startsLower: boolean;
  /** Whether the sentence is a test title. `describe` titles are noun phrases. */
  isTestTitle: boolean;
}

/** Maximum words per sentence. The style guide asks for 30. */
const MAX_WORDS = 35;

const matchPattern = (pattern: RegExp) => (sentence: Sentence) => pattern.exec(sentence.text)?.[0];

/** First words in a test title that depends on the title of the `describe` around it. */
const NO_VERBS =
  'is are was were has have can cannot may must the a an that with without and in to by for from after at on'.split(
    ' ',
  );

/** Returns a sentence's first six words if its first word is in `words`. */
function findOpening({ text, startsLower }: Sentence, words: readonly string[]): string | undefined {
  const start = text.replace(/^["'“‘(*_]+/, '');
  const first = words.find((word) => {
    const head = startsLower ? start.toLowerCase() : start;
    const wanted = startsLower ? word.toLowerCase() : word;
    return head.startsWith(wanted) && !/^[\w’'-]/.test(head.slice(wanted.length));
  });
  return first === undefined ? undefined : start.split(/\s+/).slice(0, 6).join(' ');
}

const isQuestion = ({ text }: Sentence) => /\?["'”’)*_]*$/.test(text);

/**
 * Whether a subordinate clause starts the sentence and a main clause follows: "Where Docker is missing, tests use …".
 */
const hasMainClause = ({ text }: Sentence) =>
  /^[^:]*?, (?!and\b|or\b|but\b|what\b|which\b|who\b|where\b|how\b)\S+ \S+/.test(text);

/** Ambiguous phrases with their replacements. */
const PHRASES: readonly [RegExp, string][] = [
  [/\bchanges of\b/i, '"changes to" a file, or "changes by" an actor'],
  [/\bat once\b/i, '"immediately", or "at the same time"'],
  [/, also when\b/i, '"even when"'],
];

export const RULES: readonly Rule[] = [
  {
    name: 'clause',
    advice: 'Start with a noun or a verb: "The response of …", "Returns …".',
    find: (sentence) => {
      if (isQuestion(sentence)) return undefined;
      const clause = findOpening(sentence, ['What', 'Whatever', 'How', 'Who', 'Whoever', 'Whose', 'Why']);
      if (clause !== undefined) return clause;
      return hasMainClause(sentence) ? undefined : findOpening(sentence, ['Where']);
    },
  },
  {
    name: 'fragment',
    advice: 'Name the thing: "Metrics shared by all listeners" instead of "Those of the process".',
    find: (sentence) => findOpening(sentence, ['Those', 'That of', 'Such', 'One that', 'One of which', 'Of']),
  },
  {
    name: 'pronoun-of',
    advice: `Repeat the noun: "the console's policy" instead of "that of the console".`,
    // At a sentence's start, the rule `fragment` matches it.
    find: matchPattern(/(?<=\w.*)\b(that|those|the ones?) of\b/i),
  },
  {
    name: 'is-to-be',
    advice: 'Use "must", "has to", or the future: "files to export", "the file that the merge will replace".',
    find: matchPattern(/\b(is|are|was|were) to be\b/i),
  },
  {
    name: 'long',
    advice: `Split it: at most ${MAX_WORDS} words, and one fact a sentence.`,
    find: ({ text }) => {
      const count = text.split(/\s+/).filter((word) => /\w/.test(word)).length;
      return count > MAX_WORDS ? `${count} words` : undefined;
    },
  },
  {
    name: 'title',
    advice: 'Start with a verb and its object: "closes a draft on reject" instead of "are closed by reject".',
    find: (sentence) => (sentence.isTestTitle ? findOpening(sentence, NO_VERBS) : undefined),
  },
  {
    name: 'what',
    soft: true,
    advice: 'Name the thing instead of "what …": "the files that …", "the text that …".',
    find: (sentence) =>
      isQuestion(sentence) || findOpening(sentence, ['What', 'Whatever']) !== undefined
        ? undefined
        : matchPattern(/\b(what|whatever)\b/i)(sentence),
  },
  {
    name: 'own',
    soft: true,
    advice: 'Use "its own …", "a separate …", or a plain noun: "tenants without their own settings".',
    find: matchPattern(/\b(of (its|their|his|her|your|our) own|an own)\b/i),
  },
  {
    name: 'as-it-is',
    soft: true,
    advice: 'Use "unchanged", "the current …", or "exact".',
    // Within a clause, "as it is" gives a reason: "slow, as it is read twice".
    find: matchPattern(/\bas (it|they) (is|are|was|were|stands?|stood)(?=[.,:;)]|$)/i),
  },
  {
    name: 'phrase',
    soft: true,
    advice: 'Use the words that have one meaning:',
    find: ({ text }) => {
      for (const [pattern, better] of PHRASES) {
        const found = pattern.exec(text)?.[0];
        if (found !== undefined) return `${found} → ${better}`;
      }
      return undefined;
    },
  },
];

/** Returns the rule against the retired words in docs/writing.md's glossary. */
export function retiredWords(guide: string): Rule {
  const glossary = guide.slice(guide.indexOf('\n## Glossary\n'));
  const rows = glossary.split('\n').filter((line) => /^\|.*\|$/.test(line));
  const terms = new Map<string, string>();
  for (const row of rows) {
    const [, term = '', , retired = ''] = row.split('|').map((cell) => cell.trim());
    for (const [, word = ''] of retired.matchAll(/`([^`]+)`/g)) terms.set(word.toLowerCase(), term);
  }
  if (terms.size === 0) throw new Error('The glossary of docs/writing.md has no words to retire.');
  const patterns = [...terms].map(([word, term]) => ({ pattern: inflections(word), term }));
  return {
    name: 'retired',
    advice: 'Use the word of the glossary in docs/writing.md',
    find: ({ text }) => {
      for (const { pattern, term } of patterns) {
        const found = pattern.exec(text)?.[0];
        if (found !== undefined) return `${found} → ${term}`;
      }
      return undefined;
    },
  };
}

/** Matches a word with its plural and regular verb endings. */
function inflections(word: string): RegExp {
  const endings = word.endsWith('e')
    ? `${word.slice(0, -1)}(?:e|es|ed|er|ing|al)`
    : `${word}(?:s|es|ed|ing)?`;
  return new RegExp(`(?<![\\w-])${endings}(?![\\w-])`, 'i');
}

/** Returns the violations in a text. `offset` is the sentence's index in the text. */
export function check(
  text: string,
  { startsLower, isTestTitle }: Omit<Sentence, 'text'>,
  rules: readonly Rule[],
): (Hit & { offset: number })[] {
  return splitSentences(text).flatMap(({ offset, text }) => {
    const isFirst = offset === 0;
    const sentence = { text, startsLower: startsLower && isFirst, isTestTitle: isTestTitle && isFirst };
    return rules.flatMap((rule) => {
      const found = rule.find(sentence);
      return found === undefined ? [] : [{ rule: rule.name, found, advice: rule.advice, offset }];
    });
  });
}

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
const ABBREVIATION = /\b(e\.g|i\.e|vs|etc|cf|no|approx)\.\s*$/i;

/** Splits a text into sentences. Code in backticks counts as one word and is not checked. */
function splitSentences(text: string): { offset: number; text: string }[] {
  const masked = text.replaceAll(/(`+)[^`]+\1/g, (code) => `\`${'X'.repeat(code.length - 2)}\``);
  const sentences: { offset: number; text: string }[] = [];
  for (const { index, segment } of segmenter.segment(masked.replaceAll('\n', ' '))) {
    const previous = sentences.at(-1);
    if (
      previous !== undefined &&
      (ABBREVIATION.test(previous.text) || !/[.!?…]["'”’)\]*_]*\s*$/.test(previous.text))
    )
      previous.text += segment;
    else sentences.push({ offset: index, text: segment });
  }
  return sentences
    .map(({ offset, text }) => ({ offset, text: text.trim() }))
    .filter(({ text }) => text !== '');
}

const MAX_SUBJECT = 72;

/** Returns a commit subject's problem with its remedy, or undefined for a valid subject. */
export function subjectFault(subject: string): string | undefined {
  if (/^(Say|Tell|Give|Take|Let|Leave)\b/.test(subject))
    return `starts with "${subject.split(' ', 1)[0]}": say what changed for whom, with a concrete verb (Add, Reject, Show, Remove …)`;
  if (subject.length > MAX_SUBJECT) return `has ${subject.length} characters, and at most ${MAX_SUBJECT} fit`;
  return undefined;
}
