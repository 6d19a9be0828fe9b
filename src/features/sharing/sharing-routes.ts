import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { text } from '../../core/admin/fields.ts';
import { validate } from '../../core/admin/validation.ts';
import { callErrors, tenantErrors, tenantHeaders } from '../../core/agents/execute-schema.ts';
import { inTenant } from '../../core/agents/redirect.ts';
import { observe } from '../../core/agents/tool.ts';
import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { Services } from '../../core/files/services.ts';
import { auditIntent, logUnrecorded } from '../../core/http/audit-intent.ts';
import { requireContext } from '../../core/http/authentication.ts';
import { requireInFlight } from '../../core/http/capacity.ts';
import { inputValidator, type OperationApi, operationRoutes } from '../../core/http/operation-routes.ts';
import { agentErrors, problemResponses } from '../../core/http/problem-responses.ts';
import { type AnyOperation, operationDefiner } from '../../core/lib/operation.ts';
import { type OpenAuditEvent, runAudited } from '../../core/tenants/audit.ts';
import type { Principal } from '../../core/tenants/principal.ts';
import { NO_TENANT } from '../../core/tenants/queries.ts';
import { requireSameTenant } from '../../core/tenants/tenants.ts';
import { createInvitation, listInvitations, type Party, revokeInvitation } from './invitations.ts';
import { acceptInvitation, endShare, listShares, requireSharing } from './shares.ts';
import { acceptanceErrors, invitationErrors, noSuchInvitation, noSuchShare } from './sharing-errors.ts';
import {
  acceptanceBody,
  givenShareRecord,
  invitationBody,
  invitationRecord,
  invitationsSchema,
  invitationWithTokenSchema,
  receivedShareRecord,
  receivedShareSchema,
  sharesSchema,
} from './sharing-schemas.ts';

interface SharingTypes {
  context: {
    database: Database;
    config: Config;
    services: Services;
    tenant: Party;
    actor: Principal['actor'];
    note: OpenAuditEvent['note'];
  };
  rules: object;
  error: ServiceError;
}

const defineOperation = operationDefiner<SharingTypes>();
const tag = 'sharing';

const listing = defineOperation({
  id: 'listInvitations',
  method: 'GET',
  url: '/v1/invitations',
  summary: "List the tenant's invitations",
  tag,
  response: { description: 'The invitations.', schema: invitationsSchema },
  async run({ database, tenant }) {
    return { invitations: (await listInvitations(database, tenant.id)).map(invitationRecord) };
  },
});

const invitation = defineOperation({
  id: 'createInvitation',
  method: 'POST',
  url: '/v1/invitations',
  summary: 'Invite another tenant to mount the memory, and show the token once',
  description:
    'A key for another tenant accepts the token with `POST /v1/shares`. The invitation ends when it is used (unless `reusable`), revoked, or expired, and with the key that created it.',
  tag,
  body: invitationBody,
  status: 201,
  response: { description: 'The new invitation.', schema: invitationWithTokenSchema },
  errors: invitationErrors,
  async run({ config, database, tenant, actor, body, note }) {
    note({ details: body });
    requireSharing(config);
    const { access, reusable, expires_in_seconds } = body;
    const options = { access, isReusable: reusable, expiresInSeconds: expires_in_seconds };
    const keyId = actor.type === 'api_key' ? actor.id : null;
    const created = await createInvitation(database, tenant, options, keyId);
    note({ details: { invitation: created.id } });
    return { ...invitationRecord(created), token: created.token };
  },
});

const revocation = defineOperation({
  id: 'revokeInvitation',
  method: 'DELETE',
  url: '/v1/invitations/:invitation',
  summary: 'Revoke an invitation',
  description: 'Shares that were accepted before remain.',
  tag,
  params: z.strictObject({ invitation: text(255) }),
  status: 204,
  response: { description: 'Revoked.', schema: z.null() },
  errors: [noSuchInvitation],
  async run({ database, tenant, params, note }) {
    note({ details: params });
    await revokeInvitation(database, tenant.id, params.invitation);
    return null;
  },
});

const shares = defineOperation({
  id: 'listShares',
  method: 'GET',
  url: '/v1/shares',
  summary: 'List with whom the tenant shares its memory, and who shares with it',
  tag,
  response: { description: 'The shares.', schema: sharesSchema },
  async run({ database, tenant }) {
    const { given, received } = await listShares(database, tenant.id);
    return {
      given: given.map((share) => givenShareRecord(share)),
      received: received.map((share) => receivedShareRecord(share)),
    };
  },
});

const acceptance = defineOperation({
  id: 'acceptInvitation',
  method: 'POST',
  url: '/v1/shares',
  summary: "Accept another tenant's invitation, and mount its memory",
  description: 'The other memory is then a directory below `/memories`, for all keys for the tenant.',
  tag,
  body: acceptanceBody,
  status: 201,
  response: { description: 'The share.', schema: receivedShareSchema },
  errors: acceptanceErrors,
  async run({ config, database, services, tenant, body, note }) {
    note({ details: { name: body.name } });
    const share = await acceptInvitation(database, tenant, body, config);
    services.policies.forget(tenant.id);
    note({ details: { share: share.id, tenant: share.tenant, access: share.access } });
    return receivedShareRecord(share);
  },
});

const end = defineOperation({
  id: 'endShare',
  method: 'DELETE',
  url: '/v1/shares/:share',
  summary: 'End a share that the tenant gives or receives',
  description: 'The directory is removed from the receiving tenant, within `AUTH_CACHE_SECONDS`.',
  tag,
  params: z.strictObject({ share: text(255) }),
  status: 204,
  response: { description: 'Ended.', schema: z.null() },
  errors: [noSuchShare],
  async run({ database, services, tenant, params, note }) {
    note({ details: params });
    services.policies.forget(await endShare(database, tenant.id, params.share));
    return null;
  },
});

const OPERATIONS = [listing, invitation, revocation, shares, acceptance, end] as AnyOperation<SharingTypes>[];

/** Serves `/v1/invitations` and `/v1/shares`, for tenant keys that may share. */
export async function sharingRoutes(app: FastifyInstance, config: Config, services: Services): Promise<void> {
  app.setValidatorCompiler(inputValidator(validate));
  const operations = OPERATIONS.map((operation) => ({ ...operation, headers: tenantHeaders }));
  await operationRoutes(app, sharingApi(config, services), operations);
}

function sharingApi(config: Config, services: Services): OperationApi<SharingTypes> {
  const { database } = services;
  return {
    routeConfig: () => ({}),
    describeErrors: ({ body, errors = [] }) =>
      problemResponses([
        ...(body === undefined ? [...tenantErrors, ...agentErrors] : callErrors),
        new ServiceError('invalid_parameter', 'The request has an unknown parameter: color.'),
        new ServiceError('cannot_share'),
        new ServiceError('no_such_tenant', 'acme'),
        ...errors,
      ]),
    async respond(operation, request, reply) {
      const { method, status = 200 } = operation;
      const { params, query, body, headers } = request;
      const access = method === 'GET' ? 'read' : 'write';
      const run = (note: OpenAuditEvent['note']) =>
        inTenant(request, access, async ({ principal, policy: { createdAt } }) => {
          const tenant = { id: principal.tenant, createdAt: createdAt ?? NO_TENANT };
          // After a rename, the work is repeated with the new ID.
          await requireSameTenant(database, tenant.id, tenant.createdAt);
          const { actor } = principal;
          const input = { params, query, body, headers };
          return operation.run({ database, config, services, tenant, actor, note, ...input });
        });
      const details = { tool: 'sharing', command: operation.id, access, toolUseId: undefined } as const;
      const { result } = await observe(request, { ...details, callerTrace: undefined }, async () => {
        requireCanShare(request);
        const work = () => (access === 'read' ? run(() => {}) : runRecorded(database, request, run));
        return { result: await requireInFlight(request).work(0, work), isError: false };
      });
      reply.code(status);
      return result;
    },
  };
}

/** @throws ServiceError 403 if the caller may not share */
function requireCanShare(request: FastifyRequest): void {
  if (!requireContext(request).principal.canShare) throw new ServiceError('cannot_share');
}

function runRecorded<T>(
  database: Database,
  request: FastifyRequest,
  work: (note: OpenAuditEvent['note']) => Promise<T>,
): Promise<T> {
  const { actor, tenant } = requireContext(request).principal;
  const intent = auditIntent(request, { actor, channel: 'sharing_api' });
  return runAudited(database, intent, { tenant }, work, { onUnrecorded: logUnrecorded(request) });
}
