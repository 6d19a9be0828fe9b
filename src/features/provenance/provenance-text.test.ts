import { describe, expect, it } from 'vitest';
import type { Actor } from '../../core/memory/origin.ts';
import { changeText, matchesBlock, unknownText, viewBlock } from './provenance-text.ts';

const createdAt = '2026-11-20T23:59:59.999999Z';
const own = { isMounted: false, ownTenants: ['acme', null] };
const mounted = { isMounted: true, ownTenants: ['acme', null] };
const change = (actor: Actor, place = own) =>
  changeText({ createdAt, origin: { actor }, isProposed: false }, place);

const ACTORS: [Actor, string, string][] = [
  [{ type: 'api_key', id: 'k1', label: 'laptop' }, 'key laptop', 'a key'],
  [{ type: 'api_key', id: 'k1', label: '' }, 'key k1', 'a key'],
  [{ type: 'admin_key', id: 'k2', label: 'ci' }, 'admin key ci', 'an admin key'],
  [{ type: 'user', id: 'sub', label: 'Ada' }, 'Ada', 'a person'],
  [{ type: 'jwt', subject: 'sub' }, 'token sub', 'a token'],
  [{ type: 'operator', name: 'grace' }, 'operator grace', 'an operator'],
  [{ type: 'session', id: 's1' }, 'session s1', 'a session'],
  [{ type: 'system', job: 'expire' }, 'job expire', 'a job'],
  [{ type: 'anonymous' }, 'anonymous', 'anonymous'],
];

describe('changeText', () => {
  it.each(ACTORS)(
    'names the actor %j in the own memory, and only its kind in a mounted one',
    (actor, name, kind) => {
      expect(change(actor)).toBe(`${name}, 2026-11-20`);
      expect(change(actor, mounted)).toBe(`${kind}, in a mounted memory, 2026-11-20`);
    },
  );

  it("names the kind of another tenant's actor, and the reader's own actor below a mount", () => {
    const actor: Actor = { type: 'api_key', id: 'k1', label: 'laptop', source: 'web' };
    const via = (viaTenant: string, place: typeof own) =>
      changeText({ createdAt, origin: { actor, viaTenant }, isProposed: false }, place);
    expect(via('other', own)).toBe('a key, source web, through a mount, 2026-11-20, unreviewed');
    expect(via('other', mounted)).toBe('a key, source web, in a mounted memory, 2026-11-20, unreviewed');
    expect(via('acme', mounted)).toBe('key laptop, source web, in a mounted memory, 2026-11-20, unreviewed');
  });

  it('names the reviewer in the own memory only', () => {
    const origin = {
      actor: { type: 'api_key', id: 'k1', label: 'bot', source: 'web' },
      approvedBy: { type: 'operator', name: 'grace' },
    } as const;
    expect(changeText({ createdAt, origin, isProposed: false }, own)).toBe(
      'key bot, source web, 2026-11-20, approved by operator grace',
    );
    expect(changeText({ createdAt, origin, isProposed: false }, mounted)).toBe(
      'a key, source web, in a mounted memory, 2026-11-20, approved',
    );
  });

  it('describes a version without an origin as anonymous', () => {
    expect(changeText({ createdAt, origin: null, isProposed: false }, own)).toBe('anonymous, 2026-11-20');
  });
});

describe('viewBlock', () => {
  it('joins consecutive lines with the same change', () => {
    expect(viewBlock(3, 6, (line) => (line === 5 ? unknownText() : unknownText(createdAt)))).toBe(
      '[Last change to each line, by day in UTC:\n3-4: unknown, 2026-11-20 or earlier\n5: unknown\n6: unknown, 2026-11-20 or earlier]',
    );
  });

  it('ends with the view_range of the rest after 4,096 characters', () => {
    const block = viewBlock(1, 999_999, (line) => `key ${'x'.repeat(86)}${line % 2}`);
    expect(block.length).toBeLessThan(4096 + 100);
    expect(block.split('\n').slice(-2)).toStrictEqual([
      `42: key ${'x'.repeat(86)}0`,
      'Truncated: use view_range [43, -1] to see the rest.]',
    ]);
  });

  it('shows at least one row', () => {
    expect(viewBlock(1, 2, (line) => `${line}`.repeat(5000))).toBe(
      `[Last change to each line, by day in UTC:\n1: ${'1'.repeat(5000)}\nTruncated: use view_range [2, -1] to see the rest.]`,
    );
  });
});

describe('matchesBlock', () => {
  it('ends with the number of missing lines after 4,096 characters', () => {
    const match = { path: '/memories/a.md', line: 1, change: 'x'.repeat(1900) };
    expect(matchesBlock([match, match]).split('\n')).toHaveLength(3);
    expect(matchesBlock([match, match, match]).split('\n').at(-1)).toBe('Truncated: 1 more line.]');
    expect(matchesBlock([match, match, match, match]).split('\n').at(-1)).toBe('Truncated: 2 more lines.]');
  });
});
