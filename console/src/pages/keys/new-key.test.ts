import { expect, it } from 'vitest';
import { leastKey, mayHaveRights, toNewKey, withKind } from './new-key.ts';

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

it('creates a key that shares only for one tenant, with write access, and without rights by path', () => {
  const form = { ...leastKey('acme'), access: 'read_write' as const, canShare: true };
  const rights = [{ path: '/memories/private', access: 'none' as const }];
  expect(toNewKey(form)).toMatchObject({ can_share: true, rights: [] });
  expect(toNewKey({ ...form, access: 'read_only' })).toMatchObject({ can_share: false });
  expect(toNewKey(withKind(form, 'service'))).toMatchObject({ can_share: false });
  expect(toNewKey({ ...form, rights })).toMatchObject({ can_share: false, rights });
});

it('creates keys without rights by path for admins, and for services that manage memory stores', () => {
  const rights = [{ path: '/memories/private', access: 'none' as const }];
  const service = withKind({ ...leastKey(''), access: 'read_write', rights }, 'service');
  expect(toNewKey(service)).toMatchObject({ rights, manages_stores: false });
  expect(toNewKey({ ...service, managesStores: true })).toMatchObject({ rights, manages_stores: false });
  expect(toNewKey(withKind(service, 'admin'))).toMatchObject({ rights: [] });
  const key = { kind: 'service', manages_stores: true, can_share: false } as const;
  expect(mayHaveRights(key)).toBe(false);
  expect(mayHaveRights({ ...key, manages_stores: false })).toBe(true);
});
