/**
 * Analyzes each regular expression in src/ and in the clients with recheck.
 *
 * @module-tag long
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check } from 'recheck';
import { expect, it } from 'vitest';
import { parseAst } from 'vitest/node';

/** Expressions that recheck rejects, with the input that makes them safe. */
const REVIEWED: Readonly<Record<string, string>> = {
  '/\\/\\/[^/?#\\\\]*[/?#\\\\].*@/s': 'config.ts: on a URL that the operator sets',
  '/#|[/?].*@/s': 'config.ts: on a URL that the operator sets',
  '/:\\/\\/|:.*@/s': 'config.ts: on a path that the operator sets',
  '/_ALERT_.*(CERTIFICATE|UNKNOWN_CA|HANDSHAKE_FAILURE|ACCESS_DENIED)/':
    'database/unavailability.ts: on the code of an error of OpenSSL',
  '/\\/+$/': 'clients/typescript/src/options.ts: on the base URL that the developer gives',
  '/[a-z][a-z0-9+.:-]*$/i': 'memory/secrets/url-credentials.ts: on a slice of 32 characters',
};

const src = fileURLToPath(new URL('../../..', import.meta.url));
const clients = ['typescript', 'mcp'].map((name) =>
  fileURLToPath(new URL(`../../../../clients/${name}/src`, import.meta.url)),
);

function sources(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => readFileSync(join(directory, name), 'utf8'));
}

/** Returns the regular expression literals in an ESTree node. */
function literalsIn(node: unknown): RegExp[] {
  if (typeof node !== 'object' || node === null) return [];
  const regex = 'regex' in node ? (node.regex as { pattern: string; flags: string } | null) : null;
  return regex ? [new RegExp(regex.pattern, regex.flags)] : Object.values(node).flatMap(literalsIn);
}

const literals = new Map(
  [src, ...clients]
    .flatMap(sources)
    .map((source) => parseAst(source, { lang: 'ts' }))
    .flatMap(literalsIn)
    .map((regex) => [String(regex), regex]),
);

/**
 * Reduces the finite counts in an expression. Counts change only the constant factor, and small counts let recheck
 * decide instead of guess.
 */
function withSmallCounts(pattern: string): string {
  return pattern.replace(/\{(\d+)(,?)(\d*)\}/g, (_, least: string, comma: string, most: string) => {
    const atMost = most === '' ? '' : Math.min(Number(most), 3);
    return `{${Math.min(Number(least), 2)}${comma}${atMost}}`;
  });
}

/**
 * Disables recheck's time limits, because its verdict would depend on the machine's load. Its limits on characters
 * still apply.
 */
const DETERMINISTIC = { randomSeed: 1, timeout: null, attackTimeout: null, incubationTimeout: null };

it('collects the regular expressions in the sources', () => {
  expect(literals.size).toBeGreaterThan(150);
  expect(Object.keys(REVIEWED).filter((text) => !literals.has(text))).toStrictEqual([]);
});

it('checks that every unreviewed regular expression runs in linear time', async () => {
  const suspects: string[] = [];
  for (const [text, { source, flags }] of literals) {
    if (text in REVIEWED) continue;
    // recheck accepts only flags that affect matching.
    const { status } = await check(withSmallCounts(source), flags.replace(/[dg]/g, ''), DETERMINISTIC);
    if (status !== 'safe') suspects.push(`${text}: ${status}`);
  }
  expect(suspects).toStrictEqual([]);
});
