import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Config } from '../config.ts';
import { ServiceError } from '../errors/errors.ts';
import { instructionsFor } from '../files/mounts/mount-instructions.ts';
import type { RequestContext } from '../http/authentication.ts';
import { requireInFlight } from '../http/capacity.ts';
import { agentErrors, problemResponses } from '../http/problem-responses.ts';
import { version } from '../lib/service-version.ts';
import { snakeCase } from '../lib/text-forms.ts';
import { MOUNT_ACCESS } from '../memory/mount.ts';
import { rightSchema } from '../memory/rights.ts';
import { effectiveSettings } from '../tenants/effective-settings.ts';
import { shownPrefix } from '../tenants/mounts.ts';
import type { TenantPolicyCache } from '../tenants/policy-cache.ts';
import { type Authenticator, type Caller, invalidTenant } from '../tenants/principal.ts';
import { NO_TENANT } from '../tenants/queries.ts';
import { settingSchemas } from '../tenants/setting-schemas.ts';
import { ALL_SETTINGS, isNumberSetting, type SettingName } from '../tenants/settings.ts';
import type { Tenants } from '../tenants/tenants.ts';
import { tenantHeaders } from './execute-schema.ts';
import { inTenant } from './redirect.ts';
import { sendJson } from './tool.ts';

/** Returns a value for each limit, or for each other setting, by their names in the API. */
function fields<Value>(
  kind: 'limits' | 'settings',
  value: (name: SettingName) => Value,
): Record<string, Value> {
  const own = ALL_SETTINGS.filter(([, setting]) => isNumberSetting(setting) === (kind === 'limits'));
  return Object.fromEntries(own.map(([name]) => [snakeCase(name), value(name)]));
}

const settingsSchema = (kind: 'limits' | 'settings') =>
  z.object(fields(kind, (name) => settingSchemas[name]));

const credential = z.object({
  kind: z.enum(['tenant_key', 'service_key', 'token', 'none']).meta({
    description: 'A `service_key` is for many tenants, a `token` is a JWT; `none`: no authentication.',
  }),
  id: z.string().nullable().meta({ description: 'API key ID. Null for other credentials.' }),
  label: z.string().nullable().meta({ description: 'API key label. Null for other credentials.' }),
  subject: z
    .string()
    .nullable()
    .meta({ description: 'Subject in the JSON Web Token. Null without one, and for other credentials.' }),
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
  paths: z.array(rightSchema).meta({ description: 'Rights by path. The longest path applies to a file.' }),
  can_share: z.boolean().meta({
    description:
      'Whether the credential may share the memory with other tenants, and accept invitations. False while sharing is off.',
  }),
});

const identitySchema = z
  .object({
    credential,
    tenant,
    rights,
    limits: settingsSchema('limits').meta({ description: 'The limits in effect for the tenant.' }),
    settings: settingsSchema('settings').meta({ description: 'Its other settings in effect.' }),
    mounts: z
      .array(
        z.object({
          path: z.string().meta({ examples: ['/memories/team'] }),
          access: z.enum(MOUNT_ACCESS),
          prefix: shownPrefix,
          instructions: z.string(),
        }),
      )
      .meta({ description: 'The directories that show other memories.' }),
    version: z.string().meta({ description: 'Service version.' }),
  })
  .meta({ id: 'Identity', description: 'The caller, its tenant, and its access.' });

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
    'Call this operation when a program starts, to find a wrong URL, credential, or tenant before ' +
    'a model makes its first call. The operation changes nothing.',
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

interface WhoamiOptions {
  authenticator: Authenticator;
  tenants: Tenants;
  config: Config;
  policies: TenantPolicyCache;
}

/** Serves `GET /whoami`: the caller's identity, tenant, and access. */
export async function whoamiRoute(
  app: FastifyInstance,
  { authenticator, tenants, config, policies }: WhoamiOptions,
): Promise<void> {
  app.get('/whoami', { config: { hasNoBody: true }, schema: whoamiSchema }, async (request, reply) => {
    const identity = await requireInFlight(request).work(0, () =>
      inTenant(request, 'read', (context) => identify(request, context)),
    );
    request.logEntry.command = 'whoami';
    request.logEntry.outcome = 'ok';
    return sendJson(reply, identity);
  });

  async function identify(request: FastifyRequest, context: RequestContext): Promise<Identity> {
    // An authenticated request's caller is in the key cache.
    const caller = await authenticator.identify(request);
    const { principal } = context;
    const { mounts } = await instructionsFor({ ...context, ip: request.ip }, { policies }, false);
    const tenant = await tenants.find(principal.tenant);
    const { createdAt } = context.policy;
    if (createdAt !== null && (tenant?.createdAt ?? NO_TENANT) !== createdAt)
      throw new ServiceError('tenant_replaced', principal.tenant);
    return {
      credential: callerCredential(caller),
      tenant: {
        id: principal.draftOf ?? principal.tenant,
        exists: tenant !== undefined,
        archived: (tenant?.archivedAt ?? null) !== null,
      },
      rights: {
        access: principal.proposesAs === undefined ? principal.access : 'propose',
        creates_tenants: principal.autoCreate,
        manages_stores: caller.managesStores,
        paths: [...(principal.rights ?? [])],
        can_share: (caller.canShare ?? false) && config.SHARING === 'on',
      },
      ...settingsInEffect(effectiveSettings(tenant ?? {}, config)),
      mounts,
      version,
    };
  }
}

function callerCredential({ actor, tenant }: Caller): Identity['credential'] {
  const none = { id: null, label: null, subject: null };
  switch (actor.type) {
    case 'api_key': {
      const { id, label } = actor;
      return { ...none, kind: tenant === null ? 'service_key' : 'tenant_key', id, label };
    }
    case 'jwt':
      return { ...none, kind: 'token', subject: actor.subject };
    default:
      return { ...none, kind: 'none' };
  }
}

function settingsInEffect(
  effective: ReturnType<typeof effectiveSettings>,
): Pick<Identity, 'limits' | 'settings'> {
  const value = (name: SettingName) => effective[name];
  return { limits: fields('limits', value), settings: fields('settings', value) };
}
