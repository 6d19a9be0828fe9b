import { bigint, boolean, index, pgTable, timestamp } from 'drizzle-orm/pg-core';
import type { MemoryPath } from '../../memory/path.ts';
import { key } from './columns.ts';

/**
 * Invitations to mount a tenant's memory (src/features/sharing), until their use, revocation, or expiry. On Citus, the
 * table is on the coordinator, because a token is looked up before its tenant is known.
 */
export const invitations = pgTable(
  'invitations',
  {
    id: key('id').primaryKey(),
    /** SHA-256 of the token, hexadecimal. */
    hash: key('hash').notNull().unique('invitations_hash'),
    /** The giving tenant. */
    tenantId: key('tenant_id').notNull(),
    access: key('access').$type<'read_only' | 'propose' | 'read_write'>().notNull(),
    /** Path outside which nothing is shared; null for the whole memory. */
    prefix: key('prefix').$type<MemoryPath>(),
    /** Whether several tenants may accept the invitation. */
    isReusable: boolean('is_reusable').notNull(),
    /** Number of acceptances. */
    accepted: bigint('accepted', { mode: 'number' }).notNull().default(0),
    /** Key without which the invitation is no longer valid; null for an invitation from an operator or a token. */
    keyId: key('key_id'),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
    expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  },
  (t) => [
    index('invitations_tenant').on(t.tenantId, t.createdAt),
    index('invitations_expiry').on(t.expiresAt),
  ],
);

/**
 * Accepted invitations. The receiving tenant has a mount with the share's ID. On Citus, the table is on the
 * coordinator, because a share belongs to two tenants.
 */
export const shares = pgTable(
  'shares',
  {
    id: key('id').primaryKey(),
    /** The giving tenant. */
    tenantId: key('tenant_id').notNull(),
    /** The receiving tenant. */
    toTenant: key('to_tenant').notNull(),
    invitationId: key('invitation_id').notNull(),
    /** The invitation's hash, so that a repeated acceptance returns the same share. */
    invitationHash: key('invitation_hash').notNull(),
    access: key('access').$type<'read_only' | 'propose' | 'read_write'>().notNull(),
    /** Path outside which nothing is shared; null for the whole memory. */
    prefix: key('prefix').$type<MemoryPath>(),
    createdAt: timestamp('created_at', { withTimezone: true }).notNull(),
  },
  (t) => [index('shares_tenant').on(t.tenantId, t.createdAt), index('shares_receiver').on(t.toTenant)],
);
