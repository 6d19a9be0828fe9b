/**
 * A mounted memory that the database cannot reach, for example while a node in a Citus cluster is down.
 *
 * @module-tag long-on-pglite
 */
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadConfig } from '../../src/core/config.ts';
import { DatabaseError } from '../../src/core/database/database-errors.ts';
import { buildApp } from '../../src/service/agents-app.ts';
import { cmd } from '../support/step-table.ts';
import { tenantWithMounts } from '../support/tenant-with-mounts.ts';
import { describeService } from '../support/test-service.ts';

describeService('an unreachable mounted memory', (service) => {
  const tenants = { own: '', near: '', far: '' };
  let app: FastifyInstance;

  /** Whether only the statements on files fail, as with cached policies. */
  let isCached = false;

  beforeAll(async () => {
    const { database } = service();
    const query: typeof database.query = (statement, params) => {
      const isDown = (params as { tenant?: unknown }).tenant === tenants.far;
      if (!isDown || (isCached && statement.name.startsWith('find_tenant')))
        return database.query(statement, params);
      return Promise.reject(new DatabaseError({ code: 'ECONNREFUSED' }));
    };
    Object.assign(tenants, await tenantWithMounts(service(), { far: {}, near: {} }));
    for (const tenant of [tenants.own, tenants.near, tenants.far])
      await service().execute(cmd.create('/memories/f', 'needle'), { tenant });
    const config = loadConfig({ AUTH: 'none', LOG_LEVEL: 'silent' });
    app = await buildApp({ config, database: { ...database, query } });
  });

  afterAll(() => app.close());

  const send = async (url: string, payload?: object) => {
    const method = payload === undefined ? 'GET' : 'POST';
    const headers = { 'x-tenant-id': tenants.own };
    const response = await app.inject({ method, url, headers, ...(payload && { payload }) });
    const { content, code } = response.json();
    return [response.statusCode, content ?? code];
  };

  const NOTE = '[/memories/far is not available: the memory mounted there cannot be reached at the moment.]';

  it.for([false, true])(
    'omits only the unreachable mounted memory from root views and searches',
    async (cached) => {
      isCached = cached;
      expect(await send('/execute', cmd.view('/memories'))).toStrictEqual([
        200,
        `Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:
4.0K\t/memories
6B\t/memories/f
4.0K\t/memories/far/
4.0K\t/memories/near/
6B\t/memories/near/f
${NOTE}`,
      ]);
      expect(await send('/search', { query: 'needle', mode: 'literal' })).toStrictEqual([
        200,
        `Found 2 matches in 2 files in /memories:\n/memories/f:1: needle\n/memories/near/f:1: needle\n${NOTE}`,
      ]);
      const [status, content] = await send('/instructions?protocol=false');
      expect([status, content.includes('- /memories/far (not available at the moment)')]).toStrictEqual([
        200,
        !cached,
      ]);
    },
  );

  it('returns 503 for requests below a mount whose memory cannot be reached', async () => {
    const unavailable = [503, 'database_unavailable'];
    expect(await send('/execute', cmd.view('/memories/far'))).toStrictEqual(unavailable);
    expect(await send('/execute', cmd.replace('/memories/far/f', 'needle', 'x'))).toStrictEqual(unavailable);
    expect(await send('/search', { query: 'needle', path: '/memories/far' })).toStrictEqual(unavailable);
    expect(await send('/execute', cmd.view('/memories/near/f'))).toStrictEqual([
      200,
      "Here's the content of /memories/near/f with line numbers:\n     1\tneedle",
    ]);
  });
});
