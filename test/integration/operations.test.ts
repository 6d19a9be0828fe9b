import { expect, it } from 'vitest';
import { describeServiceOnOwnDatabase } from '../support/service.ts';

// In a file of its own, which is a service of its own: it counts, and it breaks its database.
describeServiceOnOwnDatabase('operations', (service) => {
  it('healthz and readyz answer, and readyz follows the database', async () => {
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

  it('metrics count commands by name and outcome, with no tenant in them', async () => {
    await service().execute({ command: 'view', path: '/memories' }, { tenant: 'metrics-tenant' });
    await service().execute({ command: 'no-such-command' }, { tenant: 'metrics-tenant' });
    const { body } = await service().app.inject('/metrics');
    expect(body).toContain('memory_commands_total{command="view",outcome="ok"} 1');
    expect(body).toContain('memory_commands_total{command="unknown",outcome="error"} 1');
    expect(body).toContain('memory_command_duration_seconds_count{command="view"} 1');
    expect(body).toContain('memory_database_connections{state="waiting"} 0');
    expect(body).not.toMatch(/metrics-tenant|no-such-command/);
  });
});
