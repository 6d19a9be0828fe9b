/** @module-tag long-on-pglite */
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { Keys } from '../../src/core/tenants/keys.ts';
import { FirstKey } from '../../src/features/sign-in/first-key.ts';
import { buildAdminApp } from '../../src/service/admin-app.ts';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';

describeServiceOnOwnDatabase('the link for the first admin key', (service) => {
  /** Offers a link, as a replica does at its start. */
  async function offer() {
    const firstKey = await FirstKey.offer(service().database);
    if (firstKey === undefined) return undefined;
    const config = loadConfig({ AUTH: 'keys', LOG_LEVEL: 'silent' });
    const app = await buildAdminApp({ config, database: service().database, firstKey });
    const link = firstKey.linkAt('https://memory.example.com');
    const token = /^https:\/\/memory\.example\.com\/#\/first-key\/([\w-]{32})$/.exec(link)?.[1];
    const use = (payload: object) => app.inject({ method: 'POST', url: '/sign-in/first-key', payload });
    const check = () =>
      app
        .inject({ method: 'POST', url: '/sign-in/first-key/check', payload: { token } })
        .then((r) => r.statusCode);
    return { app, token, use, check };
  }

  it('creates exactly one key with full access even if the links from all replicas are used', async () => {
    const replicas = [await offer(), await offer(), await offer()];
    const wrong = await replicas[0]?.use({ token: replicas[1]?.token });
    expect([wrong?.statusCode, wrong?.json().code]).toStrictEqual([401, 'unauthorized']);
    expect((await replicas[0]?.use({ token: 1 }))?.statusCode).toBe(401);
    expect(await replicas[0]?.check()).toBe(204);

    const responses = await Promise.all(
      [...replicas, ...replicas].map((replica) => replica?.use({ token: replica.token })),
    );
    const created = responses.filter((response) => response?.statusCode === 201);
    expect(created.length).toBe(1);
    const late = await replicas[2]?.use({ token: replicas[2]?.token });
    expect([late?.statusCode, late?.json().code]).toStrictEqual([409, 'has_admin_key']);
    expect(await replicas[0]?.check()).toBe(409);

    const { key, id } = created[0]?.json() ?? {};
    const headers = { authorization: `Bearer ${key}` };
    const session = await replicas[1]?.app.inject({ url: '/v1/session', headers });
    expect(session?.json()).toMatchObject({ actor: { id, label: 'first key' }, access: 'read_write' });
    const audit = await replicas[1]?.app.inject({ url: `/v1/audit?key=${id}`, headers });
    expect(audit?.json().events).toMatchObject([
      { actor: { type: 'anonymous' }, action: 'createKey', channel: 'console', outcome: 'ok' },
    ]);

    // However the last admin key ended, running replicas reject their links, and later starts offer no link.
    const keys = new Keys(service().database);
    const retryUsedToken = async () => {
      const again = await replicas[2]?.use({ token: replicas[2]?.token });
      return [again?.statusCode, again?.json().code, await offer()];
    };
    expect(await retryUsedToken()).toStrictEqual([409, 'has_admin_key', undefined]);
    await keys.update(id, { expiresAt: '2020-01-01T00:00:00Z' });
    expect(await retryUsedToken()).toStrictEqual([409, 'has_admin_key', undefined]);
    await keys.revoke(id);
    expect(await retryUsedToken()).toStrictEqual([409, 'has_admin_key', undefined]);
    for (const replica of replicas) await replica?.app.close();
  });
});
