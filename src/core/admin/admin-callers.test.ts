import type { FastifyRequest } from 'fastify';
import { expect, it } from 'vitest';
import type { Administrator } from '../tenants/authenticator.ts';
import { adminCallers } from './admin-callers.ts';

const before: Administrator = {
  actor: { type: 'admin_key', id: 'key_1', label: '' },
  access: 'read_write',
  onlyTenants: ['acme', 'globex'],
};
const request = {
  method: 'GET',
  params: {},
  routeOptions: { config: { scope: 'handler' } },
  administrator: before,
} as unknown as FastifyRequest;

const verify = (now: Administrator) =>
  adminCallers({ authenticate: () => now, close: async () => {} }).verify(request);

it("returns the time for which the admin's identification is valid", async () => {
  expect(await verify({ ...before, readAt: 1, expiresAt: 2 })).toMatchObject({ readAt: 1, expiresAt: 2 });
});

it.each([
  ['access', { access: 'read_only' as const }],
  ['tenants', { onlyTenants: ['acme'] }],
])("ends a stream if the admin key's %s changed", async (_, change) => {
  await expect(verify({ ...before, ...change })).rejects.toMatchObject({ code: 'access_changed' });
});
