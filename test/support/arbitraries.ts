/** fast-check arbitraries: command inputs that collide often and use the contract's edge cases. */
import fc from 'fast-check';

export type Input = Record<string, unknown> & { command: string };

/**
 * Returns the seed and the number of runs for a property test. Both are fixed, so that a run can be repeated. FUZZ_SEED
 * and FUZZ_RUNS override them.
 *
 * @param runs base number; `npm run test:long` runs twice as many, `npm test` a sixteenth, other runs an eighth
 */
export function fuzzParameters(runs: number): { seed: number; numRuns: number } {
  const share = { long: 2, quick: 1 / 16 }[process.env.TEST_SET ?? ''] ?? 1 / 8;
  return {
    seed: Number(process.env.FUZZ_SEED ?? 20_251_120),
    numRuns: Number(process.env.FUZZ_RUNS ?? Math.ceil(runs * share)),
  };
}

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
/** A prime, so that the characters are from all parts of the scripts. */
const SAMPLE = 13;

/**
 * Returns the Unicode characters. `npm test` tests each thirteenth.
 *
 * @returns `part`: the sample divided by all characters
 */
export function unicodeSample(): { characters: Iterable<string>; part: number } {
  const step = process.env.TEST_SET === 'quick' ? SAMPLE : 1;
  const characters = (function* () {
    for (let code = 0; code <= 0x10ffff; code += step)
      if (code < FIRST_SURROGATE || code >= FIRST_SURROGATE + SURROGATES) yield String.fromCodePoint(code);
  })();
  return { characters, part: 1 / step };
}

/**
 * A Unicode character. `unit: 'binary'` in fast-check draws from the same characters, and spends a second on a table
 * for them.
 */
export const character: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (n) => String.fromCodePoint(n < FIRST_SURROGATE ? n : n + SURROGATES),
  (char) => {
    const code = String(char).codePointAt(0) ?? 0;
    return code < FIRST_SURROGATE ? code : code - SURROGATES;
  },
);

// Names that sort next to a path or to the bounds of its subtree ('/' is 0x2F, '0' is 0x30), and LIKE wildcards. Names
// that listings hide, and letters that sort differently by code point, by locale, and in UTF-16.
const COMMON = ['a', 'b', 'c'];
const TRICKY = [
  'a0',
  'a-',
  'a!',
  'aa',
  'A',
  'B',
  'ab',
  'a b',
  'a.txt',
  '0',
  '%',
  '_',
  "it's",
  '%2e',
  'a%2Fb',
  '"',
  '`',
];
const HIDDEN = ['.h', '...', '.a', 'node_modules', 'node_modules0'];
const UNICODE = ['ä', 'z', 'é', '日本', '😀', 'ﬀ', '～', 'ﾊ'];

export const name: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...COMMON) },
  { weight: 2, arbitrary: fc.constantFrom(...TRICKY) },
  { weight: 1, arbitrary: fc.constantFrom(...HIDDEN) },
  { weight: 1, arbitrary: fc.constantFrom(...UNICODE) },
);

const segments = fc.array(name, { minLength: 1, maxLength: 4, size: '-1' });

export const canonicalPath: fc.Arbitrary<string> = fc.oneof(
  { weight: 1, arbitrary: fc.constant('/memories') },
  { weight: 20, arbitrary: segments.map((names) => `/memories/${names.join('/').normalize('NFC')}`) },
);

/** Returns a different spelling for the same path. */
export function respell(path: string, spelling: number): string {
  const root = '/memories';
  const rest = path.slice(root.length);
  const spellings = [
    path,
    `${path}/`,
    `${path}/.`,
    `${root}/${rest}`,
    `${root}/.${rest}`,
    root + rest.replaceAll('/', '//'),
    path.normalize('NFD'),
    `${path}///`,
  ];
  return spellings[spelling] ?? path;
}

export const spelling = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.nat(7) },
);

const y = 'y'.repeat(250);

/** Paths at and beyond the length limits. A rename to such a path lengthens the paths below it. */
const long = fc.constantFrom(
  `/memories${'/a'.repeat(18)}`,
  `/memories${'/a'.repeat(20)}`,
  `/memories${'/a'.repeat(21)}`,
  `/memories/${'x'.repeat(255)}`,
  `/memories/${'x'.repeat(256)}`,
  `/memories/a/${'é'.repeat(127)}`,
  `/memories/a/${'é'.repeat(128)}`,
  `/memories/a/${'e\u0301'.repeat(127)}`,
  `/memories/${y}/${y}/${y}/${y}`,
  `/memories/${y}/${y}/${y}/${y}/${'z'.repeat(10)}`,
  `/memories/${y}/${y}/${y}/${y}/${'z'.repeat(11)}`,
  `/memories/${y}/${y}/${y}/${y}/${'z'.repeat(256)}`,
  `/memories${'/a/'.repeat(600)}`,
);

const rejected = fc.constantFrom(
  '',
  '/',
  'memories',
  '/memoriesX',
  '/memories.',
  '//memories',
  '/./memories',
  '/etc/passwd',
  ' /memories',
  '/Memories',
  '/memories/..',
  '/memories/../memories/a',
  '/memories/a/../b',
  '/memories/a/..',
  '/memories/..\\a',
  '/memories\\..',
  '/memories/%2e%2e',
  '/memories/a/%2E%2e/b',
  '/memories/%252e%252e%252fa',
  '/memories/.%2e',
  '/memories/a%2f..%2fb',
  '/memories/%5c..',
  '/memories/%25252e.',
  '/memories/a%00',
  '/memories/%zz/..',
  '/memories/%',
  '/memories/%2',
  '/memories/a\u0000',
  '/memories/\u0007a',
  '/memories/a\nb',
  '/memories/\u200Db',
  '/memories/\uFEFF',
  '/memories/a\\b',
  '/memories/\uD800',
  '/memories/a\uDC00b',
  '/memories/\u2028',
  '/memories/\u{E0001}',
  '/memories/\u007F',
  '/memories/\u0085',
  '/memories/\u0000/..',
  `/memories/${'x'.repeat(300)}\u0001`,
  `/etc/${'x'.repeat(2000)}`,
);

export const path: fc.Arbitrary<string> = fc.oneof(
  { weight: 60, arbitrary: fc.tuple(canonicalPath, spelling).map(([at, how]) => respell(at, how)) },
  { weight: 3, arbitrary: long },
  { weight: 2, arbitrary: rejected },
);

const LINES = [
  '',
  'a',
  'b',
  'aa',
  'aaa',
  'foo',
  'foo bar',
  ' a',
  '\ta',
  'a\r',
  'é',
  'e\u0301',
  '日本',
  '😀',
  '$&',
  '`',
  '\\',
  '\u2028',
];

export const text: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.array(fc.constantFrom(...LINES), { maxLength: 6 }).map((lines) => lines.join('\n')),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('x'.repeat(150), 'é'.repeat(100), `${'x'.repeat(200)}`, 'x'.repeat(201)),
  },
  { weight: 1, arbitrary: fc.string({ unit: character, maxLength: 20 }).map((s) => s.replaceAll('\0', '0')) },
);

const old_str = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      'a',
      'b',
      'aa',
      'foo',
      'o',
      '\n',
      'a\n',
      '\nb',
      'a\nb',
      'o b',
      '日',
      '😀',
      '\r',
    ),
  },
  { weight: 1, arbitrary: fc.constantFrom('', 'zzz', 'A', '$&', '.', '\\', '`', '\u0301', '\n\n') },
);

const new_str = fc.oneof(
  fc.constantFrom('', 'c', '$&', "$'", '$1$$', '$<n>', 'x\ny', '\n', 'foo\nbar\nbaz\n', '日本'),
  text,
);

const line = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -1, max: 7 }) },
  { weight: 1, arbitrary: fc.maxSafeInteger() },
);

export const view_range = fc.tuple(line, line);

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

/** Inputs whose fields all have the right type. */
export const wellFormed: fc.Arbitrary<Input> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ command: fc.constant('view'), path, view_range: optional(view_range) }),
  },
  { weight: 6, arbitrary: fc.record({ command: fc.constant('create'), path, file_text: text }) },
  {
    weight: 4,
    arbitrary: fc.record({ command: fc.constant('str_replace'), path, old_str, new_str: optional(new_str) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ command: fc.constant('insert'), path, insert_line: line, insert_text: new_str }),
  },
  { weight: 1, arbitrary: fc.record({ command: fc.constant('delete'), path }) },
  { weight: 3, arbitrary: fc.record({ command: fc.constant('rename'), old_path: path, new_path: path }) },
);

const WRONG = [
  undefined,
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  '',
  'a',
  '1',
  [],
  [1],
  [1, 2],
  [1, 2, 3],
  [1, '2'],
  [1.5, 2],
  {},
  'a\u0000b',
  'x\uD83D',
  '\uDC00\uD800',
  '\u0000\uD800',
  'ok\uDBFF\u0000',
  '/memories/a\u0000',
];
const FIELDS = [
  'path',
  'view_range',
  'file_text',
  'old_str',
  'new_str',
  'insert_line',
  'insert_text',
  'old_path',
  'new_path',
];

/** Inputs with one or two fields that are missing, invalid, unknown, or have the wrong type, and unknown commands. */
const malformed: fc.Arbitrary<Input> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .tuple(
        wellFormed,
        fc.dictionary(fc.constantFrom(...FIELDS), fc.constantFrom(...WRONG), { minKeys: 1, maxKeys: 2 }),
      )
      .map(([input, wrong]) => ({ ...input, ...wrong, command: input.command })),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('', 'undo_edit', 'View', 'toString', '__proto__', 'constructor', 'délete', 'a\nb')
      .map((command) => ({ command, path: '/memories' })),
  },
);

/** Any input from the arbitraries above, mostly valid inputs. A round trip through JSON removes undefined fields. */
export const anyInput: fc.Arbitrary<Input> = fc
  .oneof({ weight: 12, arbitrary: wellFormed }, { weight: 1, arbitrary: malformed })
  .map((input) => JSON.parse(JSON.stringify(input)));
