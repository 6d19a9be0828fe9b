/** Regular expressions run in linear time: recheck analyzes each one in src/, in the client and in secretlint's rules. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check } from 'recheck';
import { expect, it } from 'vitest';
import { parseAst } from 'vitest/node';

/** Expressions that recheck objects to, and why they are safe where they stand. */
const REVIEWED: Readonly<Record<string, string>> = {
  '/\\/+$/': 'clients/typescript/src/options.ts: on the base URL that the developer gives',
  '/[a-z][a-z0-9+.:-]*$/i': 'redact/url-credentials.ts: on a slice of 32 characters',
  '/[^.]+$/': "lodash in secretlint's bundle: on a constant, when it is loaded",
  '/hasOwnProperty|(function).*?(?=\\\\\\()| for .+?(?=\\\\\\])/g':
    "lodash in secretlint's bundle: on a constant, when it is loaded",
};

const src = fileURLToPath(new URL('../../src', import.meta.url));
const client = fileURLToPath(new URL('../../clients/typescript/src', import.meta.url));
const rules = dirname(fileURLToPath(import.meta.resolve('@secretlint/secretlint-rule-preset-recommend')));

function sources(folder: string, extension: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}

/** The regular expression literals below `node`, which is a part of an ESTree. */
function literalsIn(node: unknown): RegExp[] {
  if (typeof node !== 'object' || node === null) return [];
  const regex = 'regex' in node ? (node.regex as { pattern: string; flags: string } | null) : null;
  return regex ? [new RegExp(regex.pattern, regex.flags)] : Object.values(node).flatMap(literalsIn);
}

const literals = new Map(
  [
    ...[...sources(src, '.ts'), ...sources(client, '.ts')].map((source) => parseAst(source, { lang: 'ts' })),
    ...sources(rules, '.js')
      // The bundle's other part is a parser of URLs and tables of characters for the rules left out.
      .filter((source) => source.includes('secretlint-rule-slack'))
      .map((source) => parseAst(source)),
  ]
    .flatMap(literalsIn)
    .map((regex) => [String(regex), regex]),
);

/**
 * The expression with its finite counts made small. They only change by which constant it takes longer, never whether it
 * is linear, and small ones can be decided instead of guessed.
 */
function withSmallCounts(pattern: string): string {
  return pattern.replace(/\{(\d+)(,?)(\d*)\}/g, (_, least: string, comma: string, most: string) => {
    const atMost = most === '' ? '' : Math.min(Number(most), 3);
    return `{${Math.min(Number(least), 2)}${comma}${atMost}}`;
  });
}

it('are found', () => {
  expect(literals.size).toBeGreaterThan(150);
  expect(Object.keys(REVIEWED).filter((text) => !literals.has(text))).toStrictEqual([]);
});

it('are linear, or reviewed', async () => {
  const suspects: string[] = [];
  for (const [text, { source, flags }] of literals) {
    if (text in REVIEWED) continue;
    // recheck knows only the flags that change what is matched.
    const { status } = await check(withSmallCounts(source), flags.replace(/[dg]/g, ''), {
      randomSeed: 1,
      // A limit for a stuck analysis only: on a busy machine the default of 10 s is too short.
      timeout: 100_000,
    });
    if (status !== 'safe') suspects.push(`${text}: ${status}`);
  }
  expect(suspects).toStrictEqual([]);
});
