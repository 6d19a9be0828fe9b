/** @module-tag long-on-pglite */
import { expect, it } from 'vitest';
import { describeServiceOnOwnDatabase } from '../support/test-service.ts';

// Uses a separate file and service, because the tests count commands and damage the database.
describeServiceOnOwnDatabase('operations on a service', (service) => {
  it('returns 200 from /healthz always, but from /readyz only while the database is migrated', async () => {
    expect((await service().app.inject('/healthz')).json()).toStrictEqual({ status: 'ok' });
    expect((await service().app.inject('/readyz')).json()).toStrictEqual({ status: 'ok' });
    await service().query('DELETE FROM drizzle.__drizzle_migrations');
    const unready = await service().app.inject('/readyz');
    expect([unready.statusCode, unready.json().code, unready.headers['retry-after']]).toStrictEqual([
      503,
      'database_not_migrated',
      '2',
    ]);
    await service().query('DROP SCHEMA drizzle CASCADE');
    expect((await service().app.inject('/readyz')).json().code).toBe('database_not_migrated');
    expect((await service().app.inject('/healthz')).statusCode).toBe(200);
  });

  it('counts commands by name and outcome in the metrics, but not by tenant', async () => {
    await service().execute({ command: 'view', path: '/memories' }, { tenant: 'metrics-tenant' });
    await service().execute({ command: 'no-such-command' }, { tenant: 'metrics-tenant' });
    for (const query of ['no-such-word', '']) {
      const headers = { 'x-tenant-id': 'metrics-tenant' };
      await service().app.inject({ method: 'POST', url: '/search', headers, payload: { query } });
    }
    const { body } = await service().app.inject('/metrics');
    expect(body).toContain('memory_commands_total{command="view",outcome="ok"} 1');
    expect(body).toContain('memory_commands_total{command="unknown",outcome="error"} 1');
    expect(body).toContain('memory_commands_total{command="memory_search",outcome="ok"} 1');
    expect(body).toContain('memory_commands_total{command="memory_search",outcome="error"} 1');
    expect(body).toContain('memory_command_duration_seconds_count{command="view"} 1');
    expect(body).toContain('memory_database_connections{state="waiting"} 0');
    expect(body).not.toMatch(/metrics-tenant|no-such/);
  });
});
