import { z } from 'zod';
import { noSuchTenant } from '../../core/admin/admin-errors.ts';
import { defineOperation } from '../../core/admin/admin-operation.ts';
import { tenantParams, text } from '../../core/admin/fields.ts';
import {
  createInvitation as create,
  listInvitations as list,
  revokeInvitation as revoke,
} from './invitations.ts';
import {
  acceptInvitation as accept,
  endShare as end,
  listShares as readShares,
  requireSharing,
} from './shares.ts';
import { acceptanceErrors, invitationErrors, noSuchInvitation, noSuchShare } from './sharing-errors.ts';
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

const tag = 'sharing';

export const listInvitations = defineOperation({
  id: 'listInvitations',
  method: 'GET',
  url: '/tenants/:tenant/invitations',
  summary: "List a tenant's invitations",
  tag,
  params: tenantParams,
  response: { description: 'The invitations.', schema: invitationsSchema },
  errors: [noSuchTenant],
  async run({ database, tenant }) {
    return { invitations: (await list(database, tenant.id)).map(invitationRecord) };
  },
});

export const createInvitation = defineOperation({
  id: 'createInvitation',
  method: 'POST',
  url: '/tenants/:tenant/invitations',
  summary: "Invite another tenant to mount a tenant's memory, and show the token once",
  tag,
  access: 'read_write',
  params: tenantParams,
  body: invitationBody,
  status: 201,
  response: { description: 'The new invitation.', schema: invitationWithTokenSchema },
  errors: [noSuchTenant, ...invitationErrors],
  async run({ config, database, tenant, body, note }) {
    note({ details: invitationDetails(body) });
    requireSharing(config);
    const { access, prefix = null, reusable, expires_in_seconds } = body;
    const options = { access, prefix, isReusable: reusable, expiresInSeconds: expires_in_seconds };
    const invitation = await create(database, tenant, options, null);
    note({ details: { invitation: invitation.id } });
    return { ...invitationRecord(invitation), token: invitation.token };
  },
});

export const revokeInvitation = defineOperation({
  id: 'revokeInvitation',
  method: 'DELETE',
  url: '/tenants/:tenant/invitations/:invitation',
  summary: 'Revoke an invitation',
  description: 'Shares that were accepted before remain.',
  tag,
  access: 'read_write',
  params: tenantParams.extend({ invitation: text(255) }),
  status: 204,
  response: { description: 'Revoked.', schema: z.null() },
  errors: [noSuchTenant, noSuchInvitation],
  async run({ database, params: { tenant, invitation }, note }) {
    note({ details: { invitation } });
    await revoke(database, tenant, invitation);
    return null;
  },
});

export const listShares = defineOperation({
  id: 'listShares',
  method: 'GET',
  url: '/tenants/:tenant/shares',
  summary: 'List with whom a tenant shares its memory, and who shares with it',
  tag,
  params: tenantParams,
  response: { description: 'The shares.', schema: sharesSchema },
  errors: [noSuchTenant],
  async run({ database, params: { tenant }, administrator: { onlyTenants: scope } }) {
    const { given, received } = await readShares(database, tenant, scope);
    return {
      given: given.map((share) => givenShareRecord(share, scope)),
      received: received.map((share) => receivedShareRecord(share, scope)),
    };
  },
});

export const acceptInvitation = defineOperation({
  id: 'acceptInvitation',
  method: 'POST',
  url: '/tenants/:tenant/shares',
  summary: "Accept another tenant's invitation, and mount its memory",
  description: 'The mount takes effect within `AUTH_CACHE_SECONDS`.',
  tag,
  access: 'read_write',
  params: tenantParams,
  body: acceptanceBody,
  status: 201,
  response: { description: 'The share.', schema: receivedShareSchema },
  errors: [noSuchTenant, ...acceptanceErrors],
  async run({ config, database, tenant, body, administrator: { actor, onlyTenants: scope }, note }) {
    note({ details: { name: body.name } });
    const share = await accept(database, tenant, body, config, actor);
    note({ details: acceptanceDetails(share) });
    return receivedShareRecord(share, scope);
  },
});

export const endShare = defineOperation({
  id: 'endShare',
  method: 'DELETE',
  url: '/tenants/:tenant/shares/:share',
  summary: 'End a share that the tenant gives or receives',
  description: 'The mount is removed from the receiving tenant, within `AUTH_CACHE_SECONDS`.',
  tag,
  access: 'read_write',
  params: tenantParams.extend({ share: text(255) }),
  status: 204,
  response: { description: 'Ended.', schema: z.null() },
  errors: [noSuchTenant, noSuchShare],
  async run({ database, params: { tenant, share }, administrator: { actor }, note }) {
    note({ details: { share } });
    await end(database, tenant, share, actor);
    return null;
  },
});
