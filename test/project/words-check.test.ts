/** The check for docs/writing.md: each rule with examples that break it and examples that do not. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkNames } from '../../scripts/words/names.ts';
import { countWords, describeExcess, MAX_OF } from '../../scripts/words/of.ts';
import { type Counts, type Finding, findExcess, lower } from '../../scripts/words/ratchet.ts';
import { check, RULES, retiredWords, subjectFault } from '../../scripts/words/rules.ts';
import { sample } from '../../scripts/words/sample.ts';
import { extractTexts } from '../../scripts/words/texts.ts';

const guide = readFileSync(join(import.meta.dirname, '../../docs/writing.md'), 'utf8');
const rules = [...RULES, retiredWords(guide)];
const findRules = (text: string, isTestTitle = false) =>
  check(text, { startsLower: isTestTitle, isTestTitle }, rules).map(({ rule }) => rule);

/** Sentences that break only this rule, and sentences without a finding, by rule. */
const EXAMPLES: Record<string, { breaks: string[]; holds: string[]; isTestTitle?: boolean }> = {
  clause: {
    breaks: [
      'What goes back: a body for JSON.',
      'How long a key is kept.',
      'Who made the change.',
      'Whose key this is.',
      'Why the write failed.',
      'Where memories go that have a history already: the hash of each file.',
      'Where a file is stored, and how.',
      'Returns the file. What needs a key is rejected.',
      '"What goes back" is a clause.',
    ],
    holds: [
      'What does an agent see?',
      'Where Docker is missing, the tests use the embedded Postgres.',
      'Whether the tenant is suspended.',
      'However, the write is applied once.',
      'Whole memories are exported.',
      'How-to guides solve one task.',
    ],
  },
  fragment: {
    breaks: [
      'Those with a mount.',
      'That of the page allows its files.',
      'Such a key is rejected.',
      'One that expired is deleted.',
      'Of a key.',
    ],
    holds: [
      'Often, a key expires.',
      'Offers the console.',
      'That key is rejected.',
      'One key that expired is deleted.',
    ],
  },
  'pronoun-of': {
    breaks: [
      'The policy is that of the console.',
      'Files and those of mounts.',
      'Each limit is the one of its tenant.',
    ],
    holds: ['A file that often changes.', 'One of the tenants.'],
  },
  'is-to-be': {
    breaks: ['The file that is to be replaced.', 'The keys are to be rotated.'],
    holds: ['The file has to be replaced.', 'A key to be rotated.'],
  },
  long: {
    breaks: [`The file has ${'one more word, '.repeat(11)}.`],
    holds: [
      `The file has ${'one more word '.repeat(10)}.`,
      `The file has ${'one more word '.repeat(8)}. It also has ${'one more word '.repeat(8)}.`,
      `Run \`${'one more word '.repeat(12)}\` in a shell.`,
    ],
  },
  title: {
    isTestTitle: true,
    breaks: [
      'are closed by reject and keep their record',
      'is rejected for a past path',
      'cannot be empty',
      'that rotates its keys fetches the new key',
      'the client names a closed port',
      'with an altered cookie is rejected',
    ],
    holds: [
      'closes a draft on reject',
      'isolates tenants',
      'adds a key',
      '%s rejects a file',
      'hands over a key',
      'does not delete a file of another tenant',
    ],
  },
  what: {
    breaks: ['Returns what the caller sent.', 'Deletes whatever is left.'],
    holds: ['Do you know what an agent sees?', 'Run `what` in a shell.'],
  },
  own: {
    breaks: ['A tenant with a limit of its own.', 'The page has an own entry.'],
    holds: ['A tenant with its own limit.'],
  },
  'as-it-is': {
    breaks: ['The file is left as it is.', 'Shows files as they were.', 'Keeps it as it is: full.'],
    holds: [
      'The file is left unchanged.',
      'Reads slowly, as it is read twice.',
      'As it starts, the service reads the file.',
    ],
  },
  phrase: {
    breaks: [
      'Lists the changes of a file.',
      'At once, the key is rejected.',
      'Keeps the file, also when it is empty.',
    ],
    holds: [
      'Lists the changes to a file.',
      'Keeps the file, even when it is empty.',
      'Also, when it is empty.',
    ],
  },
  retired: {
    breaks: [
      'The write was refused.',
      'Two moments of the history.',
      'Equal to the byte.',
      'Several folders.',
    ],
    holds: ['The write was rejected.', 'Set `FOLDER` to a directory.', 'A settlement-day.'],
  },
};

it('requires examples for each rule in the words check', () => {
  expect(Object.keys(EXAMPLES).toSorted()).toStrictEqual(rules.map(({ name }) => name).toSorted());
});

describe.each(Object.entries(EXAMPLES))('the rule %s', (rule, { breaks, holds, isTestTitle }) => {
  it.each(breaks)('finds a violation in %j', (text) =>
    expect(findRules(text, isTestTitle)).toStrictEqual([rule]),
  );
  it.each(holds)('accepts the text %j', (text) => expect(findRules(text, isTestTitle)).toStrictEqual([]));
});

it('accepts a lower-case first word in a comment, but checks it in a test title', () => {
  expect(findRules('what is rejected changes a file', true)).toStrictEqual(['clause']);
  expect(findRules('of a key', true)).toStrictEqual(['fragment']);
  expect(findRules('of a key')).toStrictEqual([]);
});

it.each([
  ['Say nothing of a draft', 'starts with "Say"'],
  ['Leave no key behind', 'starts with "Leave"'],
  [`Add ${'x'.repeat(70)}`, 'has 74 characters, and at most 72 fit'],
])('rejects the commit subject %j', (subject, fault) => expect(subjectFault(subject)).toContain(fault));

it.each(['Reject keys that expired', 'Letter sizes in the console', `Add ${'x'.repeat(68)}`])(
  'accepts the commit subject %j',
  (subject) => expect(subjectFault(subject)).toBeUndefined(),
);

describe('extractTexts', () => {
  it('reads TypeScript comments, titles, and strings', () => {
    const source = `/**
 * First line
 * goes on.
 *
 * - An item.
 * @throws ServiceError 400 for a key.
 */
const x = 1; // Beside code.

// Two lines
// are one comment.

// biome-ignore lint/x: a directive
it.each([1])('returns ' + '%s', () => {});
describeService(\`keys of \${x}\`, () => {});
`;
    expect(extractTexts('test/x.test.ts', source)).toStrictEqual([
      { kind: 'comments', line: 2, text: 'First line\ngoes on.' },
      { kind: 'comments', line: 5, text: 'An item.' },
      { kind: 'comments', line: 6, text: 'ServiceError 400 for a key.' },
      { kind: 'comments', line: 8, text: 'Beside code.' },
      { kind: 'comments', line: 10, text: 'Two lines\nare one comment.' },
      { kind: 'titles', line: 14, text: 'returns %s' },
      { kind: 'suites', line: 15, text: 'keys of …' },
    ]);
  });

  it('reads strings in the CLI, console, logs, errors, and clients, and the text in JSX elements', () => {
    expect(
      extractTexts('src/core/cli/x.ts', `run('List the keys' + \` of \${id}.\`, 'id', sql\`SELECT a b\`);`),
    ).toStrictEqual([{ kind: 'texts', line: 1, text: 'List the keys of ….' }]);
    const source = `log.info('stopped by a signal');
throw new OperatorError('The file is missing.');
const x = { description: 'A text of OpenAPI.', stop: 'a an the'.split(' '), sql: 'id AS "fileId" FROM entries' };
`;
    expect(extractTexts('src/core/lib/x.ts', source)).toStrictEqual([
      { kind: 'texts', line: 1, text: 'stopped by a signal' },
      { kind: 'texts', line: 2, text: 'The file is missing.' },
    ]);
    expect(
      extractTexts(
        'console/src/x.tsx',
        'const x = <p className="muted small" title="The file name">\n  Two words <b>{y}</b>\n</p>;',
      ),
    ).toStrictEqual([
      { kind: 'texts', line: 1, text: 'The file name' },
      { kind: 'texts', line: 1, text: 'Two words' },
    ]);
    const usage = 'const USAGE = `Options:\n  --port PORT  listen here\n  API_KEY      a key of a tenant`;';
    expect(extractTexts('clients/mcp/src/x.ts', usage)).toStrictEqual([
      { kind: 'texts', line: 1, text: 'Options:' },
      { kind: 'texts', line: 2, text: 'listen here' },
      { kind: 'texts', line: 3, text: 'a key of a tenant' },
    ]);
    expect(extractTexts('scripts/x.ts', "const x = 'Two words';")).toStrictEqual([]);
  });

  it('reads Markdown, but skips code blocks and struck text', () => {
    const source = `---
title: x
---
# A *title*

A \`code\` [link](x).
Second line.

\`\`\`sh
npm ci
\`\`\`

- ~~Wrong.~~ Right.

| A | B |
| --- | --- |
| c | d |
`;
    expect(extractTexts('docs/x.md', source)).toStrictEqual([
      { kind: 'docs', line: 4, text: 'A title' },
      { kind: 'docs', line: 6, text: 'A `code` link.\nSecond line.' },
      { kind: 'docs', line: 13, text: ' Right.' },
      { kind: 'docs', line: 15, text: 'A' },
      { kind: 'docs', line: 15, text: 'B' },
      { kind: 'docs', line: 17, text: 'c' },
      { kind: 'docs', line: 17, text: 'd' },
    ]);
  });

  it('reads OpenAPI descriptions and summaries', () => {
    const source = 'paths:\n  /x:\n    summary: One.\n    description: |\n      Two.\n\n      Three.\n';
    expect(extractTexts('openapi.yaml', source)).toStrictEqual([
      { kind: 'texts', line: 3, text: 'One.' },
      { kind: 'texts', line: 4, text: 'Two.' },
      { kind: 'texts', line: 4, text: 'Three.' },
    ]);
  });

  it.each([
    ['migrations/functions/x.sql', '-- One.\n-- Two.\nSELECT 1;\n'],
    ['scripts/x.sh', '# One.\n# Two.\nls\n'],
    ['.ci/x', '#!/bin/sh\n# One.\n# Two.\nls\n'],
    ['test/x.py', '"""One.\nTwo."""\n'],
    ['console/src/x.css', '/* One.\n   Two. */\n'],
  ])('reads comments in %s', (file, source) => {
    expect(extractTexts(file, source).map(({ text }) => text)).toStrictEqual(['One.\nTwo.']);
  });

  it('treats docstrings in the clients and comments on chart values as texts for users', () => {
    expect(extractTexts('clients/typescript/src/x.ts', '// One.').map(({ kind }) => kind)).toStrictEqual([
      'texts',
    ]);
    expect(extractTexts('charts/memory-service/values.yaml', '# One.').map(({ kind }) => kind)).toStrictEqual(
      ['texts'],
    );
  });
});

describe('checkNames', () => {
  const check = (source: string) =>
    checkNames('src/x.ts', source).map(({ line, rule, text }) => `${line} ${rule} ${text}`);

  it.each([
    'const x = { isFolder: 1 };',
    'x.momentsAt;',
    'class RefusalError {}',
    'const MAX_SETTLED = 1;',
    'interface X { overtaken: 1 }',
  ])('finds a retired word in the names in %j', (source) => {
    expect(check(source)).toStrictEqual([expect.stringMatching(/^1 retired /)]);
  });

  it.each([
    'function keyOf() {}',
    'const sizeOf = () => 1;',
    'const x = { pathOf() {} };',
    'class X { #pathOf() {} }',
    'interface X { pathOf(): string }',
    'function measured() {}',
    'const shown = () => 1;',
  ])('finds a function without a verb in %j', (source) => {
    expect(check(source)).toStrictEqual([expect.stringMatching(/^1 getter /)]);
  });

  it.each([
    'Promise.allSettled([]);',
    'class X { valueOf() {} }',
    'const keyOf = 1, measured = 1;',
    'function content() {}',
    'function feed() {}',
    'function isPartOf1() {}',
    'const momentum = unsettling;',
  ])('accepts the names in %j', (source) => expect(check(source)).toStrictEqual([]));

  it('reports a name only once per file, at the line where it first occurs', () => {
    expect(check('\nkeyOf(1);\nfunction keyOf() {}\nkeyOf(2);')).toStrictEqual(['2 getter keyOf']);
  });
});

describe('describeExcess', () => {
  const text = (of: number) => [
    { kind: 'docs' as const, text: `${'of '.repeat(of)}${'word '.repeat(1000 - of)}` },
  ];

  it('accepts "of" up to the limit and reports more', () => {
    expect(describeExcess(text(MAX_OF.docs))).toStrictEqual([]);
    expect(describeExcess(text(MAX_OF.docs + 1))).toStrictEqual([
      expect.stringContaining(`${MAX_OF.docs + 1}.0 times in 1,000 words of docs`),
    ]);
  });

  it('counts code in backticks as one word, and suite titles as titles', () => {
    const texts = [
      { kind: 'titles' as const, text: 'Of `a of b` off' },
      { kind: 'suites' as const, text: 'the list of keys' },
    ];
    expect([...countWords(texts)]).toStrictEqual([['titles', { words: 7, of: 2 }]]);
  });
});

describe('sample', () => {
  const texts = ['a', 'b', 'c'].flatMap((kind) =>
    Array.from({ length: 20 }, (_, i) => ({ kind, place: `${kind}${i}`, text: `${kind} ${i}` })),
  );

  it('draws distinct texts, and equally many for each kind', () => {
    const drawn = sample([...texts, ...texts], 31, 7);
    expect(new Set(drawn).size).toBe(31);
    expect(['a', 'b', 'c'].map((kind) => drawn.filter((text) => text.kind === kind).length)).toStrictEqual([
      11, 10, 10,
    ]);
  });

  it('draws the same texts only for the same seed', () => {
    expect(sample(texts, 9, 7)).toStrictEqual(sample(texts, 9, 7));
    expect(sample(texts, 9, 7)).not.toStrictEqual(sample(texts, 9, 8));
  });

  it('draws all texts from a kind that has fewer than its share', () => {
    expect(sample(texts.slice(0, 21), 20, 7).map(({ kind }) => kind)).toStrictEqual([
      ...Array(10).fill('a'),
      'b',
    ]);
  });
});

describe('the ratchet', () => {
  const finding = (file: string): Finding => ({
    file,
    line: 1,
    kind: 'comments',
    rule: 'clause',
    text: 'What.',
    found: 'What',
    advice: '',
  });
  const ratchet: Counts = { comments: { 'src/a': { clause: 2, what: 1 } } };

  it('reports all findings in a directory if they exceed its counts, and none otherwise', () => {
    const two = [finding('src/a/x.ts'), finding('src/a/y.ts')];
    expect(findExcess(two, ratchet)).toStrictEqual([]);
    const three = [...two, finding('src/a/z.ts')];
    expect(findExcess(three, ratchet)).toStrictEqual([three]);
  });

  it('reports every finding in a new directory', () => {
    expect(findExcess([finding('src/new/x.ts')], ratchet)).toHaveLength(1);
  });

  it('lowers the counts in the ratchet, and never raises them', () => {
    expect(lower(ratchet, { comments: { 'src/a': { clause: 1 } } })).toStrictEqual({
      comments: { 'src/a': { clause: 1 } },
    });
    expect(
      lower(ratchet, { comments: { 'src/a': { clause: 9, what: 9 }, 'src/b': { what: 1 } } }),
    ).toStrictEqual(ratchet);
  });
});
