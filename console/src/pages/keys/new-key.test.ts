import { expect, it } from 'vitest';
import { leastKey, toNewKey, withKind } from './new-key.ts';

it('starts a new key with the least rights, for 90 days', () => {
  expect(toNewKey(leastKey(''))).toBeNull();
  const key = toNewKey(leastKey('acme'));
  expect(key).toMatchObject({ kind: 'tenant', tenant: 'acme', access: 'read_only', manages_stores: false });
  const days = (Date.parse(key?.expires_at ?? '') - Date.now()) / 86_400_000;
  expect(Math.round(days)).toBe(90);
});

it('falls back to reading if a kind of key does not support the access', () => {
  expect(withKind({ ...leastKey('acme'), access: 'propose' }, 'service').access).toBe('read_only');
  expect(withKind({ ...leastKey('acme'), access: 'read_write' }, 'admin').access).toBe('read_write');
});
