import { post, remove, sendJson } from './api-client.ts';
import type { GivenShare, Invitation, ReceivedShare } from './schema.ts';
import { tenantPath } from './tenants-api.ts';

export type { GivenShare, Invitation, ReceivedShare } from './schema.ts';

export interface Shares {
  given: GivenShare[];
  received: ReceivedShare[];
}

export interface NewInvitation extends Pick<Invitation, 'access' | 'reusable'> {
  /** Path that is shared; undefined for the whole memory. */
  prefix?: string | undefined;
  expires_in_seconds: number;
}

export interface Acceptance {
  token: string;
  /** Name of the directory below the root. */
  name: string;
  instructions: string;
}

export const listShares = (tenant: string, signal: AbortSignal) =>
  sendJson<Shares>(tenantPath(tenant, '/shares'), { signal });

export const listInvitations = async (tenant: string, signal: AbortSignal) =>
  (await sendJson<{ invitations: Invitation[] }>(tenantPath(tenant, '/invitations'), { signal })).invitations;

export const invitationCreation = (tenant: string, json: NewInvitation) =>
  post(tenantPath(tenant, '/invitations'), json);

export const invitationRevocation = (tenant: string, id: string) =>
  remove(tenantPath(tenant, `/invitations/${encodeURIComponent(id)}`));

export const acceptance = (tenant: string, json: Acceptance) => post(tenantPath(tenant, '/shares'), json);

export const shareEnd = (tenant: string, id: string) =>
  remove(tenantPath(tenant, `/shares/${encodeURIComponent(id)}`));
