/** A naive model for sharing, written from docs/sharing.md. */

export type Access = 'read_only' | 'propose' | 'read_write';

export class ModelTenant {
  id: string;
  isDeleted = false;
  isSuspended = false;
  customer: string | undefined = 'acme';
  /** File contents by path. */
  readonly files = new Map<string, string>();
  /** Received shares by their directory's name. */
  readonly received = new Map<string, ModelShare>();
  /** Events in the change feed, with the share's ID. */
  readonly events: string[] = [];

  constructor(id: string) {
    this.id = id;
  }
}

export interface ModelInvitation {
  id: string;
  token: string;
  giver: ModelTenant;
  access: Access;
  isReusable: boolean;
  isOpen: boolean;
}

export interface ModelShare {
  id: string;
  invitation: ModelInvitation;
  giver: ModelTenant;
  receiver: ModelTenant;
  name: string;
}

export type Rejection = 'forbidden' | 'missing' | 'rejected';

const isAlive = (share: ModelShare) => share.receiver.received.get(share.name) === share;

function isSameCustomer(one: ModelTenant, other: ModelTenant): boolean {
  return Boolean(one.customer) && one.customer === other.customer;
}

/** Returns why an acceptance is rejected, or the earlier share that it repeats, or undefined for a new share. */
export function checkAcceptance(
  receiver: ModelTenant,
  invitation: ModelInvitation,
  name: string,
): Rejection | ModelShare | undefined {
  const { giver } = invitation;
  const taken = receiver.received.get(name);
  if (receiver.isSuspended) return 'forbidden';
  if (taken?.invitation === invitation && !giver.isDeleted) return taken;
  if (!invitation.isOpen || giver.isDeleted) return 'missing';
  if (giver === receiver) return 'rejected';
  if (!isSameCustomer(giver, receiver)) return 'forbidden';
  if (taken !== undefined || receiver.files.has(`/memories/${name}`)) return 'rejected';
  return undefined;
}

/** Adds the share `id`. */
export function accept(
  receiver: ModelTenant,
  invitation: ModelInvitation,
  name: string,
  id: string,
): ModelShare {
  if (!invitation.isReusable) invitation.isOpen = false;
  const share = { id, invitation, giver: invitation.giver, receiver, name };
  receiver.received.set(name, share);
  receiver.events.push(`share_created ${id}`);
  return share;
}

/** Returns why a tenant cannot revoke an invitation. */
export function checkRevocation(tenant: ModelTenant, invitation: ModelInvitation): Rejection | undefined {
  if (tenant.isSuspended) return 'forbidden';
  return invitation.isOpen && invitation.giver === tenant ? undefined : 'missing';
}

/** Returns why a tenant cannot end a share. */
export function checkEnd(tenant: ModelTenant, share: ModelShare): Rejection | undefined {
  if (tenant.isSuspended) return 'forbidden';
  return isAlive(share) && [share.giver, share.receiver].includes(tenant) ? undefined : 'missing';
}

export function end({ receiver, name, id }: ModelShare): void {
  receiver.received.delete(name);
  receiver.events.push(`share_ended ${id}`);
}

/**
 * Ends the shares between tenants with different customers, in the order of their IDs. A deleted tenant's shares are
 * left to their receivers.
 */
export function endMismatched(tenants: readonly ModelTenant[]): void {
  const shares = tenants.flatMap(({ received }) => [...received.values()]);
  for (const share of shares.sort((one, other) => (one.id < other.id ? -1 : 1)))
    if (!share.giver.isDeleted && !isSameCustomer(share.giver, share.receiver)) end(share);
}

/** Returns the tenant that replaces a deleted tenant under its ID. */
export function replace(tenant: ModelTenant): ModelTenant {
  tenant.isDeleted = true;
  tenant.received.clear();
  return new ModelTenant(tenant.id);
}

/** Returns the shares that a tenant gives and receives. */
export function listShares(tenant: ModelTenant, tenants: readonly ModelTenant[]) {
  const shares = tenants.flatMap(({ received }) => [...received.values()]);
  return {
    given: shares.filter(({ giver }) => giver === tenant),
    received: shares.filter(({ receiver }) => receiver === tenant),
  };
}

/** Returns the shares that a tenant gives and receives as sorted texts. */
export function describeShares(tenant: ModelTenant, tenants: readonly ModelTenant[]) {
  const { given, received } = listShares(tenant, tenants);
  return {
    given: given.map(({ id, receiver, invitation: { access } }) => `${id} ${receiver.id} ${access}`).sort(),
    received: received
      .map(
        ({ id, giver, name, invitation }) =>
          `${id} ${giver.id} ${name} ${invitation.access} ${status(giver)}`,
      )
      .sort(),
  };
}

function status({ isDeleted, isSuspended }: ModelTenant): string {
  if (isDeleted) return 'missing';
  return isSuspended ? 'suspended' : 'ok';
}

/** Finds the memory that has a path below `/memories/NAME`, or why there is none. */
export function locate(tenant: ModelTenant, name: string): ModelShare | 'no directory' | 'not available' {
  const share = tenant.received.get(name);
  if (share === undefined) return 'no directory';
  return status(share.giver) === 'ok' ? share : 'not available';
}
