/** Event streams behind the admin API's plugins, without a database. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { adminAuthentication } from '../../src/core/admin/admin-authentication.ts';
import { adminCallers } from '../../src/core/admin/admin-callers.ts';
import { concurrencyLimit } from '../../src/core/admin/concurrency-limit.ts';
import { loadConfig } from '../../src/core/config.ts';
import { ServiceError } from '../../src/core/errors/errors.ts';
import { accessLog } from '../../src/core/http/access-log.ts';
import { connections } from '../../src/core/http/connections.ts';
import { streamEvents } from '../../src/core/http/event-stream.ts';
import { createHttpServer } from '../../src/core/http/http-server.ts';
import { slowClients } from '../../src/core/http/slow-clients.ts';
import { streams } from '../../src/core/http/streams.ts';
import type { AdminAuthenticator } from '../../src/core/tenants/authenticator.ts';

it('releases the slot for each stream, and ends the streams whose admin key was revoked', async () => {
  let isRevoked = false;
  const authenticator: AdminAuthenticator = {
    authenticate: () => {
      if (isRevoked) throw new ServiceError('unauthorized');
      return { actor: { type: 'admin_key', id: 'key_1', label: '' }, access: 'read_only', onlyTenants: null };
    },
    close: async () => {},
  };
  const config = loadConfig({ AUTH_CACHE_SECONDS: '1' });
  const app = createHttpServer(config, { log: pino({ level: 'silent' }), requestTimeoutMs: 0 });
  onTestFinished(() => app.close());
  await app.register(accessLog);
  await app.register(slowClients, { timeoutMs: 5000 });
  await app.register(connections);
  await app.register(adminAuthentication, { authenticator });
  await app.register(concurrencyLimit, { maxWaitMs: 1 });
  await app.register(streams, { config, callers: adminCallers(authenticator) });
  app.get('/stream', { config: { scope: 'handler' } }, (request, reply) =>
    streamEvents(request, reply, async ({ signal }) => void (await once(signal, 'abort'))),
  );
  app.get('/other', { config: { scope: 'handler' } }, async () => 'ok');
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const open = async () => {
    const [response] = await once(get({ port, path: '/stream', agent: false }), 'response');
    return response as IncomingMessage;
  };
  const opened = await Promise.all(Array.from({ length: 10 }, open));
  expect((await app.inject('/other')).statusCode).toBe(200);
  isRevoked = true;
  for (const response of opened)
    expect(Buffer.concat(await response.toArray()).toString()).toContain('"code":"unauthorized"');
});
