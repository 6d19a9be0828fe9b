import { ServiceError } from '../../core/errors/errors.ts';
import { MAX_MOUNTS } from '../../core/tenants/mounts.ts';
import { MAX_INVITATIONS } from './invitations.ts';
import { MAX_SHARES } from './shares.ts';

/* Errors of both APIs, as examples for their documents. */

export const noSuchInvitation = new ServiceError('no_such_invitation', 'inv_0123456789ab');
export const noSuchShare = new ServiceError('no_such_share', 'shr_0123456789ab');

export const tooManyTokens = new ServiceError('too_many_invalid_tokens', 60);

const sharingOff = new ServiceError('sharing_off');

export const invitationErrors = [
  sharingOff,
  new ServiceError('too_many_invitations', 'acme', MAX_INVITATIONS),
];

export const acceptanceErrors = [
  sharingOff,
  new ServiceError('sharing_not_allowed', 'customer'),
  new ServiceError('invalid_invitation'),
  new ServiceError('mounts_itself', 'acme'),
  new ServiceError('mount_name_taken', 'acme', '/memories/team'),
  new ServiceError('too_many_mounts', 'acme', MAX_MOUNTS),
  new ServiceError('too_many_shares', 'acme', MAX_SHARES),
];
