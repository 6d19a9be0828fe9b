import { z } from 'zod';
import { tenantId, text, time } from '../../core/admin/fields.ts';
import { mountPath } from '../../core/memory/mount.ts';
import { mountFields, mountNameSchema, shownPrefix } from '../../core/tenants/mounts.ts';
import { type Invitation, MAX_INVITATIONS, TOKEN } from './invitations.ts';
import type { GivenShare, ReceivedShare } from './shares.ts';

/* Parameters and records of both APIs: for agents, and for admins. */

const MINUTE = 60;
const WEEK = 7 * 24 * 60 * MINUTE;
const YEAR = 365 * 24 * 60 * MINUTE;

export const invitationBody = z.strictObject({
  access: mountFields.access.meta({ description: 'Access to the memory for the tenants that accept.' }),
  prefix: mountFields.prefix,
  reusable: z.boolean().default(false).meta({ description: 'Whether several tenants may accept it.' }),
  expires_in_seconds: z.int().min(MINUTE).max(YEAR).default(WEEK),
});

export const acceptanceBody = z.strictObject({
  token: text(255)
    .regex(TOKEN, 'is not the token of an invitation.')
    .meta({ examples: ['msi_0123456789abcdefghijABCDEFGHIJ0123456789abc'] }),
  name: mountNameSchema,
  instructions: mountFields.instructions,
});

const invitationFields = {
  id: z.string().meta({ examples: ['inv_0123456789ab'] }),
  access: mountFields.access,
  prefix: shownPrefix,
  reusable: z.boolean(),
  accepted: z.int().meta({ description: 'Number of acceptances.' }),
  key: z.string().nullable().meta({
    description:
      'Key that created the invitation. When the key is revoked or expires, so is the invitation. Null: an operator or a token.',
  }),
  created_at: time,
  expires_at: time,
};

export const invitationSchema = z
  .object(invitationFields)
  .meta({ id: 'Invitation', description: "An invitation to mount a tenant's memory, without its token." });

export const invitationWithTokenSchema = z.object({
  ...invitationFields,
  token: z.string().meta({ description: 'The token itself, shown only once.' }),
});

export const invitationsSchema = z.object({
  invitations: z
    .array(invitationSchema)
    .meta({ description: `Invitations that are neither used nor expired, at most ${MAX_INVITATIONS}.` }),
});

export type InvitationRecord = z.output<typeof invitationSchema>;

export function invitationRecord(invitation: Invitation): InvitationRecord {
  const { id, access, prefix, isReusable, accepted, keyId, createdAt, expiresAt } = invitation;
  return {
    id,
    access,
    prefix: prefix ?? undefined,
    reusable: isReusable,
    accepted,
    key: keyId,
    created_at: createdAt,
    expires_at: expiresAt,
  };
}

const id = z.string().meta({ examples: ['shr_0123456789ab'] });
const otherTenant = tenantId.nullable().meta({ description: "Null outside an admin key's scope." });

const givenShareSchema = z
  .object({
    id,
    tenant: otherTenant,
    access: mountFields.access,
    prefix: shownPrefix,
    invitation: z.string().meta({ examples: ['inv_0123456789ab'] }),
    created_at: time,
  })
  .meta({ id: 'GivenShare', description: "A share of this tenant's memory with another tenant." });

export const receivedShareSchema = z
  .object({
    id,
    tenant: otherTenant,
    path: z.string().meta({ examples: ['/memories/team'] }),
    access: mountFields.access,
    prefix: shownPrefix,
    status: z.enum(['ok', 'suspended', 'missing', 'name_taken']).nullable().meta({
      description:
        "`suspended`, `missing`: so is the other tenant. `name_taken`: a file hides behind the directory. Null outside an admin key's scope.",
    }),
    created_at: time,
  })
  .meta({ id: 'ReceivedShare', description: "A share of another tenant's memory with this tenant." });

export const sharesSchema = z.object({
  given: z.array(givenShareSchema),
  received: z.array(receivedShareSchema),
});

export type SharesRecord = z.output<typeof sharesSchema>;

/** @param scope tenants whose IDs may be revealed; null means all */
export function givenShareRecord(
  { id, tenant, access, prefix, invitationId, createdAt }: GivenShare,
  scope: readonly string[] | null = null,
): SharesRecord['given'][number] {
  return {
    id,
    tenant: inScope(tenant, scope),
    access,
    prefix: prefix ?? undefined,
    invitation: invitationId,
    created_at: createdAt,
  };
}

/** @param scope tenants whose IDs may be revealed; null means all */
export function receivedShareRecord(
  share: ReceivedShare,
  scope: readonly string[] | null = null,
): SharesRecord['received'][number] {
  const { id, tenant, access, prefix, status, createdAt } = share;
  const shown = inScope(tenant, scope);
  return {
    id,
    tenant: shown,
    path: mountPath(share),
    access,
    prefix,
    status: shown === null ? null : status,
    created_at: createdAt,
  };
}

/** Returns an invitation's details for the audit trail, which records no paths. */
export function invitationDetails({
  prefix,
  ...body
}: z.output<typeof invitationBody>): Record<string, unknown> {
  return { ...body, ...(prefix !== undefined && { is_partial: true }) };
}

/** Returns an acceptance's details for the audit trail, which records no paths. */
export function acceptanceDetails({ id, tenant, access, prefix }: ReceivedShare): Record<string, unknown> {
  return { share: id, tenant, access, ...(prefix !== undefined && { is_partial: true }) };
}

function inScope(tenant: string, scope: readonly string[] | null): string | null {
  return scope === null || scope.includes(tenant) ? tenant : null;
}
