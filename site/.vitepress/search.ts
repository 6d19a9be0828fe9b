/**
 * Options for MiniSearch, VitePress' search library. VitePress sends the functions in `searchOptions` to the browser as
 * text, so each function is self-contained: its tables stand inside it.
 */
import { type Section, splitIntoSections } from './headings.ts';

/**
 * Returns the words that the search looks for instead of one word in the query: none for a stop word, and the
 * documentation's words for a synonym.
 */
const expandTerm = (term: string): string[] => {
  const stopWords =
    'a about am an and any are as at be by can could do does for from get has have how i in into is it its me my of on or ' +
    'our should so some somebody someone something than that the their them then there they this to use want was we ' +
    'what when where which who why will with would you your';
  const synonyms: Record<string, string> = {
    audit: 'actor history',
    authentication: 'keys tokens',
    automatically: 'expire retention',
    blame: 'actor history',
    cleanup: 'prune expire retention',
    clear: 'delete erase',
    config: 'settings',
    configuration: 'settings',
    configure: 'settings',
    cost: 'costs',
    crash: 'failures',
    destroy: 'delete erase',
    diff: 'compare',
    env: 'settings variables',
    erase: 'delete',
    error: 'errors',
    forget: 'delete erase user',
    gdpr: 'delete erase user',
    helm: 'kubernetes chart',
    injection: 'hostile poisoned',
    install: 'tutorial start',
    k8s: 'kubernetes',
    limit: 'limits settings',
    login: 'sign',
    metrics: 'observability',
    monitoring: 'observability',
    oidc: 'sign tokens',
    personal: 'user',
    pii: 'delete erase user secrets',
    privacy: 'delete erase user',
    purge: 'delete erase',
    quota: 'limits settings',
    remove: 'delete erase',
    rollback: 'restore revert history',
    sso: 'sign',
    throttle: 'limit rate settings',
    throttling: 'limit rate settings',
    undo: 'restore revert history',
    undone: 'restore revert history',
    wipe: 'delete erase',
  };
  const word = term.toLowerCase();
  if (stopWords.split(' ').includes(word)) return [];
  return [word, ...(Object.hasOwn(synonyms, word) ? (synonyms[word]?.split(' ') ?? []) : [])];
};

/** Splits a text into words, and keeps names such as `MAX_FILE_BYTES` as additional words. */
const tokenize = (text: string): string[] => [
  ...text.split(/[\s\p{P}]+/u),
  ...(text.match(/[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+/g) ?? []),
];

/** Ranks guides and reference before pages for contributors and records from the past. */
const boostDocument = (id: string): number =>
  /\/(api|decisions)\/|\/(benchmarks|changelog|contributing|writing|design)(#|$)/.test(id) ? 0.4 : 1;

/** Options for the index, and for each query. */
export const indexOptions = { tokenize };

export const searchOptions = {
  combineWith: 'OR',
  boost: { title: 4, titles: 2, text: 1 },
  boostDocument,
  processTerm: expandTerm,
  // Short words match exactly, because a word such as "key" starts or resembles too many words.
  fuzzy: (term: string) => (term.length > 4 ? 0.15 : false),
  prefix: (term: string) => term.length > 2,
} as const;

/** Options for VitePress. The index is built from Markdown, which takes less time than rendering each page twice. */
export const search = {
  provider: 'local',
  options: {
    _render: (markdown: string) => markdown,
    miniSearch: {
      options: indexOptions,
      searchOptions,
      _splitIntoSections: (_path: string, markdown: string): Section[] => splitIntoSections(markdown),
    },
  },
} as const;
