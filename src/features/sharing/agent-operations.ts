import { z } from 'zod';
import { text } from '../../core/admin/fields.ts';
import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { hasReason, type ServiceError } from '../../core/errors/errors.ts';
import type { Services } from '../../core/files/services.ts';
import { operationDefiner } from '../../core/lib/operation.ts';
import type { OpenAuditEvent } from '../../core/tenants/audit.ts';
import type { FailedAttempts } from '../../core/tenants/failed-attempts.ts';
import type { Principal } from '../../core/tenants/principal.ts';
import { createInvitation, listInvitations, type Party, revokeInvitation } from './invitations.ts';
import { acceptInvitation, endShare, listShares, requireSharing } from './shares.ts';
import {
  acceptanceErrors,
  invitationErrors,
  noSuchInvitation,
  noSuchShare,
  tooManyTokens,
} from './sharing-errors.ts';
import {
  acceptanceBody,
  acceptanceDetails,
  givenShareRecord,
  invitationBody,
  invitationDetails,
  invitationRecord,
  invitationsSchema,
  invitationWithTokenSchema,
  receivedShareRecord,
  receivedShareSchema,
  sharesSchema,
} from './sharing-schemas.ts';

/* Operations for tenant keys that may share. */

export interface SharingTypes {
  context: {
    database: Database;
    config: Config;
    services: Services;
    tenant: Party;
    actor: Principal['actor'];
    note: OpenAuditEvent['note'];
    /** Counts wrong tokens by tenant. */
    attempts: FailedAttempts;
  };
  rules: object;
  error: ServiceError;
}

const defineOperation = operationDefiner<SharingTypes>();
const tag = 'sharing';

export const listing = defineOperation({
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

export const invitation = defineOperation({
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
    note({ details: invitationDetails(body) });
    requireSharing(config);
    const { access, prefix = null, reusable, expires_in_seconds } = body;
    const options = { access, prefix, isReusable: reusable, expiresInSeconds: expires_in_seconds };
    const keyId = actor.type === 'api_key' ? actor.id : null;
    const created = await createInvitation(database, tenant, options, keyId);
    note({ details: { invitation: created.id } });
    return { ...invitationRecord(created), token: created.token };
  },
});

export const revocation = defineOperation({
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

export const shares = defineOperation({
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

export const acceptance = defineOperation({
  id: 'acceptInvitation',
  method: 'POST',
  url: '/v1/shares',
  summary: "Accept another tenant's invitation, and mount its memory",
  description: 'The other memory is then a directory below `/memories`, for all keys for the tenant.',
  tag,
  body: acceptanceBody,
  status: 201,
  response: { description: 'The share.', schema: receivedShareSchema },
  errors: [...acceptanceErrors, tooManyTokens],
  async run({ config, database, services, tenant, actor, attempts, body, note }) {
    note({ details: { name: body.name } });
    attempts.check(tenant.id);
    const share = await acceptInvitation(database, tenant, body, config, actor).catch((error) => {
      if (hasReason(error, 'invalid_invitation')) attempts.note(tenant.id);
      throw error;
    });
    services.policies.forget(tenant.id);
    note({ details: acceptanceDetails(share) });
    return receivedShareRecord(share);
  },
});

export const end = defineOperation({
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
  async run({ database, services, tenant, actor, params, note }) {
    note({ details: params });
    services.policies.forget(await endShare(database, tenant.id, params.share, actor));
    return null;
  },
});
