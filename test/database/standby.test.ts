/** @module-tag long A service whose database becomes a standby. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { PostgresServer } from '../support/faults/postgres-server.ts';
import { installBinaries } from '../support/postgres/binaries.ts';
import { cmd } from '../support/step-table.ts';
import { startService } from '../support/test-service.ts';

it('reports that it is not ready while its database is a standby, until the standby is promoted', async () => {
  const directory = await mkdtemp(join(inject('scratch'), 'standby-'));
  const binaries = await installBinaries(directory);
  const server = await PostgresServer.create({ binaries, directory: join(directory, 'postgres') });
  const service = await startService('postgres', { DATABASE_URL: server.url() });
  const ready = async () => {
    const { statusCode, body } = await service.app.inject('/readyz');
    return [statusCode, JSON.parse(body)];
  };
  try {
    expect((await service.execute(cmd.create('/memories/a', 'x'))).status).toBe(200);
    expect(await ready()).toStrictEqual([200, { status: 'ok' }]);

    await server.stop();
    await writeFile(join(server.data, 'standby.signal'), '');
    await server.start();
    expect(await ready()).toMatchObject([
      503,
      {
        code: 'database_read_only',
        detail: 'The database is a standby, which cannot write: DATABASE_URL must name the primary.',
      },
    ]);
    expect((await service.execute(cmd.view('/memories/a'))).status).toBe(200);
    const rejected = await service.execute(cmd.create('/memories/b', 'x'));
    expect([rejected.status, rejected.body.code]).toStrictEqual([503, 'database_unavailable']);

    await server.query('SELECT pg_promote()');
    expect(await ready()).toStrictEqual([200, { status: 'ok' }]);
    expect((await service.execute(cmd.create('/memories/b', 'x'))).status).toBe(200);
  } finally {
    await service.close();
    await server.stop();
    await rm(directory, { recursive: true });
  }
});
