import { z } from 'zod';
import { databaseTime } from '../database/clock.ts';
import { version } from '../lib/service-version.ts';
import { defineOperation } from './admin-operation.ts';
import { access, actor, tenantId, time } from './fields.ts';

const session = z
  .object({
    actor,
    access,
    tenants: z
      .array(tenantId)
      .nullable()
      .meta({ description: 'The only tenants that the credential is for; null: all tenants.' }),
    read_only: z.boolean().meta({ description: 'Whether the credential may only read.' }),
    service_url: z.string().nullable().meta({
      description: "`PUBLIC_URL`, the agents' API URL as clients reach it; null if it is not set.",
    }),
    service_port: z.int().meta({ description: "`PORT`, the agents' API port." }),
    sharing: z.boolean().meta({ description: 'Whether `SHARING` allows tenants to share memories.' }),
    version: z.string().meta({ description: 'Service version.' }),
    now: time.meta({ description: "The time by the database's clock, which the history goes by." }),
  })
  .meta({ id: 'Session' });

export const getSession = defineOperation({
  id: 'getSession',
  method: 'GET',
  url: '/session',
  summary: 'Get your identity and the service version',
  tag: 'session',
  scope: 'handler',
  response: { description: 'The session.', schema: session },
  async run({ config, database, administrator: { actor: who, access: allowed, onlyTenants } }) {
    const now = (await databaseTime(database)).toISOString();
    return {
      actor: who,
      access: allowed,
      tenants: onlyTenants,
      read_only: allowed === 'read_only',
      service_url: config.PUBLIC_URL ?? null,
      service_port: config.PORT,
      sharing: config.SHARING === 'on',
      version,
      now,
    };
  },
});
