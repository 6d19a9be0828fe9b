import type { Access, Key, KeyKind, Right } from '../../api/api-types.ts';
import type { NewKey } from '../../api/tenants-api.ts';

const DAY = 86_400_000;

/** State for the form that creates a key. */
export interface KeyForm {
  label: string;
  /** Source declared for writes with the key. */
  source: string;
  kind: KeyKind;
  tenant: string;
  access: Access;
  managesStores: boolean;
  rights: Right[];
  canShare: boolean;
  isForSome: boolean;
  /** Tenant IDs, separated by white space or commas. */
  tenants: string;
  /** Number of days, `at` for the time in `expiresAt`, or empty for a key that never expires. */
  expires: string;
  expiresAt: string | null;
}

/** Returns the form for a new key: the least rights, for one tenant and 90 days. */
export const leastKey = (tenant: string): KeyForm => ({
  label: '',
  source: '',
  kind: 'tenant',
  tenant,
  access: 'read_only',
  managesStores: false,
  rights: [],
  canShare: false,
  isForSome: false,
  tenants: '',
  expires: '90',
  expiresAt: null,
});

export type Expiry = Pick<KeyForm, 'expires' | 'expiresAt'>;

export const KINDS: Record<KeyKind, string> = {
  tenant: 'One tenant',
  service: 'A service that acts for all tenants',
  admin: 'An admin',
};

export const EXPIRIES = {
  30: 'In 30 days',
  90: 'In 90 days',
  365: 'In a year',
  at: 'At a time…',
  '': 'Never',
};

const ADMIN_ACCESS = {
  read_only: 'Read only',
  operate: 'Operate: change memories, settings and suspension',
  read_write: 'Manage keys and tenants, too',
};
const SERVICE_ACCESS = { read_only: 'Read only', read_write: 'Read and write' };
const TENANT_ACCESS = {
  read_only: 'Read only',
  propose: 'Propose: writes wait for a review',
  read_write: 'Read and write',
};
const ACCESS: Record<KeyKind, Record<string, string>> = {
  tenant: TENANT_ACCESS,
  service: SERVICE_ACCESS,
  admin: ADMIN_ACCESS,
};

export const accessLevels = (kind: KeyKind): Record<string, string> => ACCESS[kind];

/* A key with rights by path neither manages stores nor shares. */

export const mayManageStores = ({ kind, access, rights }: KeyForm) =>
  kind === 'service' && access === 'read_write' && rights.length === 0;

export const mayShare = ({ kind, access, rights }: KeyForm) =>
  kind === 'tenant' && access === 'read_write' && rights.length === 0;

type Options = Pick<Key, 'kind' | 'manages_stores' | 'can_share'>;

export const mayHaveRights = ({ kind, manages_stores, can_share }: Options) =>
  kind !== 'admin' && !manages_stores && !can_share;

/** Returns a form's kind of key and its options, without options that the kind or the access does not support. */
export const keyOptions = (form: KeyForm): Options => ({
  kind: form.kind,
  manages_stores: mayManageStores(form) && form.managesStores,
  can_share: mayShare(form) && form.canShare,
});

/** Returns the form with another kind of key. An access level that the kind does not support becomes `read_only`. */
export const withKind = (form: KeyForm, kind: KeyKind): KeyForm => ({
  ...form,
  kind,
  access: form.access in accessLevels(kind) ? form.access : 'read_only',
});

/** Returns the request body for a key, or null if the form is incomplete. */
export function toNewKey(form: KeyForm): NewKey | null {
  const { kind, access, label, isForSome } = form;
  const source = form.source.trim();
  const [tenant] = parseIds(form.tenant);
  const tenants = kind === 'admin' && isForSome ? parseIds(form.tenants) : null;
  if ((kind === 'tenant' && tenant === undefined) || tenants?.length === 0) return null;
  if (!hasExpiry(form)) return null;
  const options = keyOptions(form);
  return {
    ...options,
    access,
    tenants,
    label,
    source,
    rights: mayHaveRights(options) ? form.rights : [],
    expires_at: expiryTime(form),
    ...(kind === 'tenant' && tenant !== undefined ? { tenant } : {}),
  };
}

export const hasExpiry = ({ expires, expiresAt }: Expiry) => expires !== 'at' || expiresAt !== null;

export function expiryTime({ expires, expiresAt }: Expiry): string | null {
  if (expires === '') return null;
  return expires === 'at' ? expiresAt : new Date(Date.now() + Number(expires) * DAY).toISOString();
}

const parseIds = (text: string) => [...new Set(text.split(/[\s,]+/).filter(Boolean))];

/** Returns a random idempotency key. Browsers provide `crypto.randomUUID` only over TLS or on localhost. */
export const randomId = () =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join('');
