import { z } from 'zod';
import { invalidTenant } from '../../auth/principal.ts';
import { ServiceError } from '../../errors.ts';
import { settingSchemas } from '../../tenants/setting-schemas.ts';
import { ALL_SETTINGS } from '../../tenants/settings.ts';
import { snakeCase } from '../../util/snake-case.ts';
import { agentErrors, problemResponses } from '../problem-responses.ts';
import { tenantHeaders } from './execute-schema.ts';

/** The settings that are numbers, or those that are choices, by the names of the API. */
const settingFields = (hasChoices: boolean): Record<string, z.ZodType> =>
  Object.fromEntries(
    ALL_SETTINGS.filter(([, setting]) => 'choices' in setting === hasChoices).map(([name]) => [
      snakeCase(name),
      settingSchemas[name],
    ]),
  );

const credential = z.object({
  kind: z.enum(['tenant_key', 'service_key', 'token', 'none']).meta({
    description: 'A `service_key` is for many tenants, a `token` is a JWT; `none`: no authentication.',
  }),
  id: z.string().nullable().meta({ description: 'Of a key.' }),
  label: z.string().nullable().meta({ description: 'Of a key.' }),
  subject: z.string().nullable().meta({ description: 'Of a token; null when it has none.' }),
});

const tenant = z.object({
  id: z.string().meta({ examples: ['acme'] }),
  exists: z.boolean().meta({ description: '`false`: the first write creates it.' }),
  archived: z.boolean().meta({ description: 'Whether its files can only be read and deleted.' }),
});

const rights = z.object({
  access: z.enum(['read_write', 'propose', 'read_only']),
  creates_tenants: z.boolean().meta({ description: 'Whether the first write creates a tenant.' }),
  manages_stores: z
    .boolean()
    .meta({ description: 'Whether the credential may create, change and delete memory stores.' }),
});

const identitySchema = z
  .object({
    credential,
    tenant,
    rights,
    limits: z.object(settingFields(false)).meta({ description: 'The limits in effect for the tenant.' }),
    settings: z.object(settingFields(true)).meta({ description: 'Its other settings in effect.' }),
    mounts: z
      .array(
        z.object({
          path: z.string().meta({ examples: ['/memories/team'] }),
          access: z.enum(['read_only', 'read_write']),
          instructions: z.string(),
        }),
      )
      .meta({ description: 'The directories that show other memories.' }),
    version: z.string().meta({ description: 'Of the service.' }),
  })
  .meta({ id: 'Identity', description: 'Who the caller is, for which tenant, and what it may do.' });

export type Identity = z.output<typeof identitySchema>;

const errors = [
  new ServiceError('tenant_required'),
  invalidTenant(),
  ...agentErrors,
  new ServiceError('tenant_mismatch'),
  new ServiceError('tenant_suspended', 'acme'),
  new ServiceError('unknown_tenant', 'acme'),
];

export const whoamiSchema = {
  operationId: 'whoami',
  summary: 'Get your identity, tenant, rights and limits',
  description:
    'Call it when a program starts: a wrong URL, credential or tenant is an error here, before a model meets it. It changes nothing.',
  tags: ['memory'],
  headers: tenantHeaders,
  response: {
    200: {
      description: 'The identity.',
      content: { 'application/json': { schema: identitySchema } },
    },
    ...problemResponses(errors),
  },
};
