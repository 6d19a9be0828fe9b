import { z } from 'zod';
import { databaseTime } from '../database/clock.ts';
import { version } from '../lib/version.ts';
import { administratorOf } from './authentication.ts';
import { adminRoutes } from './context.ts';
import { access, actor, tenantId, time } from './fields.ts';
import { errorResponses, json } from './responses.ts';

const session = z
  .object({
    actor,
    access,
    tenants: z
      .array(tenantId)
      .nullable()
      .meta({ description: 'The only tenants that the credential is for; null: all of them.' }),
    read_only: z.boolean().meta({ description: 'Whether the credential may only read.' }),
    version: z.string().meta({ description: 'Of the service.' }),
    now: time.meta({ description: "The time by the database's clock, which the history goes by." }),
  })
  .meta({ id: 'Session' });

/** `GET /v1/session`: who the caller is. */
export const sessionRoutes = adminRoutes((app, { database }) => {
  app.get(
    '/session',
    {
      config: { scope: 'handler' },
      schema: {
        operationId: 'getSession',
        summary: 'Get your identity and the version of the service',
        tags: ['session'],
        response: { 200: json('The session.', session), ...errorResponses('reads') },
      },
    },
    async (request) => {
      const { actor: who, access: allowed, onlyTenants } = administratorOf(request);
      const now = (await databaseTime(database)).toISOString();
      return {
        actor: who,
        access: allowed,
        tenants: onlyTenants,
        read_only: allowed === 'read_only',
        version,
        now,
      };
    },
  );
});
