import type { ErrorDefinition } from './definition.ts';

/** Errors about credentials, access, and a tenant's state. */
export const ACCESS_ERRORS = {
  tenant_required: {
    description: 'The credential is valid for many tenants, and the request names none.',
    problem: () => ({
      status: 400,
      message: 'This credential is valid for many tenants: name one in the header X-Tenant-Id.',
    }),
  },
  invalid_tenant: {
    description: '`X-Tenant-Id` is not a tenant id.',
    problem: (rule: string) => ({
      status: 400,
      message: `X-Tenant-Id must be ${rule}`,
    }),
  },
  unauthorized: {
    // The response must not reveal which of the four reasons applies.
    description: 'The credential is missing, unknown, expired or revoked.',
    problem: () => ({
      status: 401,
      message:
        'A valid credential is required: send Authorization: Bearer with an API key or token of this service.',
    }),
  },
  tenant_mismatch: {
    description: 'The credential is for another tenant.',
    problem: () => ({
      status: 403,
      message:
        'The credential is not valid for the tenant in X-Tenant-Id. Omit the header, or use a credential of that tenant.',
    }),
  },
  tenant_suspended: {
    description: 'The tenant is suspended.',
    problem: (tenant: string) => ({ status: 403, message: `Tenant ${tenant} is suspended.` }),
  },
  unknown_tenant: {
    description: 'The tenant does not exist, and its first write does not create it.',
    problem: (tenant: string) => ({
      status: 403,
      message: `Tenant ${tenant} does not exist. An operator must create it first.`,
    }),
  },
  tenant_replaced: {
    description: 'The tenant was deleted or renamed while the request was executed.',
    problem: (tenant: string) => ({
      status: 503,
      message: `Tenant ${tenant} was deleted or renamed meanwhile. Try again.`,
      retryAfter: 1,
    }),
  },
  access_changed: {
    description: "The credential's access or the tenant changed while a stream was open.",
    problem: () => ({
      status: 409,
      message: "The credential's access or the tenant has changed. Connect again.",
    }),
  },
  is_admin_key: {
    description: 'The credential is an admin key, which is for the admin API only.',
    problem: () => ({
      status: 403,
      message:
        'An admin key is valid only for the admin API (ADMIN_PORT). Use a tenant key or a service key here.',
    }),
  },
  not_an_admin_key: {
    description: 'The credential is not an admin key.',
    problem: () => ({
      status: 403,
      message: 'The admin API requires an admin key.',
    }),
  },
  has_admin_key: {
    description: 'The link for the first admin key is over, because an admin key was created before.',
    problem: () => ({
      status: 409,
      message:
        'The link is over, because this installation had an admin key before. Sign in with an admin key, or create one on the server with the command line.',
    }),
  },
  read_only_key: {
    description: 'The admin key may only read.',
    problem: () => ({
      status: 403,
      message: 'This admin key is read-only.',
    }),
  },
  operate_only_key: {
    description:
      'The admin key may not manage keys, mounts, webhooks and texts kept out of all tenants, nor create, archive, copy, rename or delete tenants.',
    problem: () => ({
      status: 403,
      message:
        'This admin key has `operate` access: it cannot manage keys, mounts, webhooks, and texts kept out of all tenants, or create, archive, copy, rename or delete tenants.',
    }),
  },
  comment_of_another: {
    description: 'The admin key has `operate` access, and the comment is by another admin.',
    problem: () => ({
      status: 403,
      message:
        'This comment is by another admin. Only its author or a key with `read_write` access can delete it.',
    }),
  },
  outside_scope: {
    description: 'The admin key is for other tenants, or the operation concerns all tenants.',
    problem: (of: 'tenant' | 'fleet') => ({
      status: 403,
      message:
        of === 'tenant'
          ? 'This admin key is not valid for this tenant.'
          : 'This admin key is limited to certain tenants, and this affects all of them.',
    }),
  },
  cannot_share: {
    description: 'The credential may not share the memory, or accept invitations.',
    problem: () => ({
      status: 403,
      message: 'This requires a tenant key with `can_share`, which an operator creates.',
    }),
  },
  sharing_off: {
    description: 'The service does not allow sharing.',
    problem: () => ({
      status: 403,
      message: 'Sharing is off. An operator allows it with SHARING=on.',
    }),
  },
  sharing_not_allowed: {
    description: 'The service allows sharing only between tenants with the same value in their metadata.',
    problem: (key: string) => ({
      status: 403,
      message: `These tenants may not share: both need the same value of \`${key}\` in their metadata.`,
    }),
  },
  host_not_allowed: {
    description: 'Without authentication, `Host` and `Origin` must name the loopback interface.',
    problem: (header: 'Host' | 'Origin' | 'another server') => ({
      status: 403,
      message:
        header === 'another server'
          ? 'The request comes from a page on another server. Without authentication the admin API serves only its own pages: open the console at the address of the admin API, or set AUTH=keys.'
          : `${header} does not name this machine. Without authentication the service accepts requests to localhost, 127.0.0.1 and [::1] only: use one of these, set AUTH=keys, or set ALLOW_UNAUTHENTICATED=true if a proxy in front authenticates requests.`,
    }),
  },
  tenant_exists: {
    description: 'A tenant with this id already exists.',
    problem: (tenant: string) => ({ status: 409, message: `Tenant ${tenant} already exists.` }),
  },
  tenant_archived: {
    description: 'The tenant is archived: its files can only be read and deleted.',
    problem: (tenant: string) => ({
      status: 409,
      message: `Tenant ${tenant} is archived: nothing in it can be created or changed.`,
    }),
  },
  too_many_failed_attempts: {
    description: 'The address has sent too many invalid credentials.',
    problem: (retryAfter: number) => ({
      status: 429,
      message: 'Too many failed attempts from this address.',
      retryAfter,
    }),
  },
} satisfies Record<string, ErrorDefinition<never[]>>;
