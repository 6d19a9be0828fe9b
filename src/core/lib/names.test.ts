import { describe, expect, it } from 'vitest';
import { NEW_TENANT_ID } from '../tenants/ids.ts';
import { isNewMountName } from '../tenants/mounts.ts';
import { isName } from './text-forms.ts';

const UNSAFE = [
  '\n',
  '\r',
  '\t',
  '\0',
  '\u007f',
  '\u0085',
  '\u2028',
  '\u2029',
  '\u202e',
  '\u2066',
  '\u200f',
  '\u061c',
  '\u200b',
  '\ufeff',
  '\u{e0041}',
];

describe("new tenant's ID", () => {
  it.each(['acme', 'a', '0', '_x', '.hidden', 'user:1', 'a@example.com', '...', 'x'.repeat(128)])(
    'accepts the tenant ID %s',
    (id) => {
      expect(NEW_TENANT_ID.test(id)).toBe(true);
    },
  );

  it.each([
    '-x',
    '--all',
    '.',
    '..',
    'draft_1',
    '',
    ' ',
    'a b',
    ' a',
    'a ',
    'a/b',
    'a\\b',
    'a%2fb',
    'ä',
    '*',
    '$x',
    "'",
    'x'.repeat(129),
    ...UNSAFE.map((c) => `a${c}`),
  ])('rejects the tenant ID %j', (id) => {
    expect(NEW_TENANT_ID.test(id)).toBe(false);
  });
});

describe('a label, source, title, or display name', () => {
  it.each([
    '',
    'worker',
    'Preferences (50 % / week)',
    'Größe',
    '日本語',
    '\u{1f469}\u200d\u{1f4bb}',
    'نمی\u200cخواهم',
    'a-b',
    '"q"',
  ])('accepts the display name %j', (name) => {
    expect(isName(name)).toBe(true);
  });

  it.each([
    '-x',
    '--label',
    ' a',
    'a ',
    '\u00a0a',
    'a\u3000',
    ' ',
    ...UNSAFE.flatMap((c) => [`a${c}b`, `${c}a`, `a${c}`]),
  ])('rejects the display name %j', (name) => {
    expect(isName(name)).toBe(false);
  });
});

describe("new mount's name", () => {
  it.each(['team', 'wïki', 'a.b', 'a b', '_x', '1', 'a@example.com', 'a+b', '日本語', 'x'.repeat(255)])(
    'accepts the mount name %s',
    (name) => {
      expect(isNewMountName(name)).toBe(true);
    },
  );

  it.each([
    '',
    '.',
    '..',
    '.x',
    '-x',
    ' a',
    'a ',
    'a.',
    'a/b',
    '/',
    'a\\b',
    'a%20b',
    '%2e%2e',
    'a*',
    'a?',
    "a'b",
    'a"b',
    '$HOME',
    '`id`',
    'a;b',
    'a|b',
    'a&b',
    'a<b',
    'a>b',
    'a:b',
    'a#b',
    '~',
    'node_modules',
    'e\u0301',
    'x'.repeat(256),
    ...UNSAFE.map((c) => `a${c}b`),
  ])('rejects the mount name %j', (name) => {
    expect(isNewMountName(name)).toBe(false);
  });
});
