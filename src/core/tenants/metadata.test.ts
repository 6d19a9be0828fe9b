import { expect, it } from 'vitest';
import { pairsProblem, parsePairs } from './metadata.ts';

const NOT_A_PAIR =
  'must be a key of 1 to 64 characters, an equals sign, and a value of at most 512 characters, such as plan=pro.';

it('splits a pair at its first equals sign', () => {
  const texts = ['plan=pro', 'note=a=b\nc', 'empty=', `${'k'.repeat(64)}=${'v'.repeat(512)}`];
  expect(pairsProblem(texts)).toBeNull();
  expect(parsePairs(texts)).toStrictEqual({
    plan: 'pro',
    note: 'a=b\nc',
    empty: '',
    ['k'.repeat(64)]: 'v'.repeat(512),
  });
});

it('rejects a text that is not a pair, and two pairs with the same key', () => {
  for (const text of [
    'plan',
    '',
    '=pro',
    `${'k'.repeat(65)}=v`,
    `k=${'v'.repeat(513)}`,
    'k=\0',
    '{"plan":"pro"}',
  ])
    expect([text, pairsProblem(['region=eu', text])]).toStrictEqual([text, NOT_A_PAIR]);
  expect(pairsProblem(['plan=pro', 'plan=free'])).toBe('must not have the same key twice.');
  expect(pairsProblem(['__proto__=x'])).toBe('must not have a pair named __proto__.');
});
