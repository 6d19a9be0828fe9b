import fp from 'fastify-plugin';
import { z } from 'zod';
import type { Database } from '../database/database.ts';
import { isStandby, type SchemaState, schemaState } from '../database/migrate.ts';
import { ServiceError } from '../errors/errors.ts';
import { problemResponses } from './problem-responses.ts';

/** Maximum time that `GET /readyz` waits for the database. */
const READY_TIMEOUT_MS = 2000;

const statusSchema = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });
const ok = {
  description: 'Ready.',
  content: { 'application/json': { schema: statusSchema } },
};

interface HealthOptions {
  database: Database;
}

/** Serves `GET /healthz` (the process is running) and `GET /readyz` (the service can execute requests). */
export const healthRoutes = fp<HealthOptions>(
  async (app, { database }) => {
    let draining = false;
    app.addHook('preClose', async () => {
      draining = true;
    });
    // A client that keeps its connection open would delay the shutdown. The header makes the client reconnect to
    // another replica.
    app.addHook('onSend', (_request, reply, _payload, done) => {
      if (draining) reply.header('Connection', 'close');
      done();
    });
    app.decorate('drain', () => {
      draining = true;
    });

    app.get(
      '/healthz',
      {
        schema: {
          operationId: 'healthz',
          summary: 'Check that the process is running',
          tags: ['operations'],
          security: [],
          response: { 200: ok },
        },
      },
      async () => ({ status: 'ok' }),
    );

    // Concurrent probes share one check, so that probes do not accumulate while the database hangs.
    let check: Promise<void> | undefined;
    app.get(
      '/readyz',
      {
        schema: {
          operationId: 'readyz',
          summary:
            'Check that the database is reachable, migrated and writable, and that the process is not shutting down',
          tags: ['operations'],
          security: [],
          response: {
            200: ok,
            ...problemResponses([
              databaseSilent(),
              new ServiceError('database_not_migrated'),
              new ServiceError('database_too_new'),
              new ServiceError('database_read_only'),
              new ServiceError('shutting_down'),
            ]),
          },
        },
      },
      async () => {
        if (draining) throw new ServiceError('shutting_down');
        check ??= checkDatabase(database).finally(() => {
          check = undefined;
        });
        await check;
        return { status: 'ok' };
      },
    );
  },
  { name: 'health' },
);

declare module 'fastify' {
  interface FastifyInstance {
    /** Makes `GET /readyz` return 503, so that load balancers stop sending requests to this replica. */
    drain(): void;
  }
}

async function checkDatabase(database: Database): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout')), READY_TIMEOUT_MS);
  });
  let states: [schema: SchemaState, standby: boolean];
  try {
    states = await Promise.race([Promise.all([schemaState(database), isStandby(database)]), timeout]);
  } catch {
    throw databaseSilent();
  } finally {
    clearTimeout(timer);
  }
  const [schema, isReadOnly] = states;
  if (schema === 'too_new') throw new ServiceError('database_too_new');
  if (schema !== 'current') throw new ServiceError('database_not_migrated');
  if (isReadOnly) throw new ServiceError('database_read_only');
}

function databaseSilent(): ServiceError {
  return new ServiceError('database_unavailable', undefined, 'readiness check');
}
