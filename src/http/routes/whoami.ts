import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Authenticator, Caller } from '../../auth/principal.ts';
import type { Config } from '../../config.ts';
import { ServiceError } from '../../errors.ts';
import { instructionsFor } from '../../mounts/instructions.ts';
import { effectiveSettings } from '../../tenants/effective-settings.ts';
import type { TenantPolicyCache } from '../../tenants/policy-cache.ts';
import { ALL_SETTINGS } from '../../tenants/settings.ts';
import type { Tenants } from '../../tenants/tenants.ts';
import { snakeCase } from '../../util/snake-case.ts';
import { version } from '../../version.ts';
import type { RequestContext } from '../authentication.ts';
import { inFlightOf } from '../capacity.ts';
import { inCurrentTenant } from '../proposals.ts';
import { sendJson } from './tool-run.ts';
import { type Identity, whoamiSchema } from './whoami-schema.ts';

interface WhoamiOptions {
  authenticator: Authenticator;
  tenants: Tenants;
  config: Config;
  policies: TenantPolicyCache;
  /** How long a request may be worked on, in milliseconds. */
  timeoutMs: number;
}

/** `GET /whoami`: who the caller is, for which tenant, and what it may do. */
export async function whoamiRoute(
  app: FastifyInstance,
  { authenticator, tenants, config, policies, timeoutMs }: WhoamiOptions,
): Promise<void> {
  app.get('/whoami', { config: { hasNoBody: true }, schema: whoamiSchema }, async (request, reply) => {
    const inFlight = inFlightOf(request);
    await inFlight.takeSlot();
    const identity = await inFlight.workWithin(timeoutMs, () =>
      inCurrentTenant(request, (context) => identify(request, context)),
    );
    request.logEntry.command = 'whoami';
    request.logEntry.outcome = 'ok';
    return sendJson(reply, identity);
  });

  async function identify(request: FastifyRequest, context: RequestContext): Promise<Identity> {
    // Known since the request was authenticated.
    const caller = await authenticator.identify(request);
    const { principal } = context;
    const { mounts } = await instructionsFor({ ...context, ip: request.ip }, { policies }, false);
    const tenant = await tenants.find(principal.tenant);
    const { createdAt } = context.policy;
    if (createdAt !== null && tenant?.createdAt !== createdAt)
      throw new ServiceError('tenant_replaced', principal.tenant);
    return {
      credential: credentialOf(caller),
      tenant: {
        id: principal.draftOf ?? principal.tenant,
        exists: tenant !== undefined,
        archived: (tenant?.archivedAt ?? null) !== null,
      },
      rights: {
        access: principal.proposesAs === undefined ? principal.access : 'propose',
        creates_tenants: principal.autoCreate,
        manages_stores: caller.managesStores,
      },
      ...settingsInEffect(effectiveSettings(tenant ?? {}, config)),
      mounts,
      version,
    };
  }
}

function credentialOf({ actor, tenant }: Caller): Identity['credential'] {
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
  const record = (hasChoices: boolean) =>
    Object.fromEntries(
      ALL_SETTINGS.filter(([, setting]) => 'choices' in setting === hasChoices).map(([name]) => [
        snakeCase(name),
        effective[name],
      ]),
    );
  return { limits: record(false), settings: record(true) };
}
