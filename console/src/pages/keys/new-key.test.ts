import { expect, it } from 'vitest';
import { leastKey, toNewKey, withKind } from './new-key.ts';

it('gives a new key read-only access for 90 days by default', () => {
  expect(toNewKey(leastKey(''))).toBeNull();
  const key = toNewKey(leastKey('acme'));
  expect(key).toMatchObject({ kind: 'tenant', tenant: 'acme', access: 'read_only', manages_stores: false });
  const days = (Date.parse(key?.expires_at ?? '') - Date.now()) / 86_400_000;
  expect(Math.round(days)).toBe(90);
});

it('falls back to read-only access if the new kind of key does not support the chosen access', () => {
  expect(withKind({ ...leastKey('acme'), access: 'propose' }, 'service').access).toBe('read_only');
  expect(withKind({ ...leastKey('acme'), access: 'read_write' }, 'admin').access).toBe('read_write');
});
