import fp from 'fastify-plugin';
import { z } from 'zod';
import { ServiceError } from '../errors.ts';
import { problemResponses } from '../plugins/problem-responses.ts';
import type { SchemaState } from '../postgres/migrate.ts';

/** How long `GET /readyz` waits for the database. */
const READY_TIMEOUT_MS = 2000;

const statusSchema = z.object({ status: z.literal('ok') }).meta({ id: 'Health' });
const ok = {
  description: 'It is.',
  content: { 'application/json': { schema: statusSchema } },
};

interface HealthOptions {
  /** Rejects when the database does not answer. */
  schemaState: () => Promise<SchemaState>;
}

/** `GET /healthz`: the process runs. `GET /readyz`: it can do its work. */
export const healthRoutes = fp<HealthOptions>(
  async (app, { schemaState }) => {
    let draining = false;
    app.addHook('preClose', async () => {
      draining = true;
    });
    // A client that keeps its connection would keep the server from closing: it is told to open another one elsewhere.
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
          summary: 'Whether the process runs',
          tags: ['operations'],
          security: [],
          response: { 200: ok },
        },
      },
      async () => ({ status: 'ok' }),
    );

    // Probes that come while one is under way share its answer, so a database that hangs does not gather them.
    let check: Promise<void> | undefined;
    app.get(
      '/readyz',
      {
        schema: {
          operationId: 'readyz',
          summary: 'Whether the database is reachable and migrated, and the process not about to stop',
          tags: ['operations'],
          security: [],
          response: {
            200: ok,
            ...problemResponses([
              databaseSilent(),
              new ServiceError('database_not_migrated'),
              new ServiceError('database_too_new'),
              new ServiceError('shutting_down'),
            ]),
          },
        },
      },
      async () => {
        if (draining) throw new ServiceError('shutting_down');
        check ??= checkDatabase(schemaState).finally(() => {
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
    /** Makes `GET /readyz` answer 503 from now on, so that no new requests are sent here. */
    drain(): void;
  }
}

async function checkDatabase(schemaState: HealthOptions['schemaState']): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('timeout')), READY_TIMEOUT_MS);
  });
  let state: SchemaState;
  try {
    state = await Promise.race([schemaState(), timeout]);
  } catch {
    throw databaseSilent();
  } finally {
    clearTimeout(timer);
  }
  if (state === 'too_new') throw new ServiceError('database_too_new');
  if (state !== 'current') throw new ServiceError('database_not_migrated');
}

function databaseSilent(): ServiceError {
  return new ServiceError('database_unavailable', undefined, 'readiness check');
}
