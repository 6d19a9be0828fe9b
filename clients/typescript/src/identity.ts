import { isObject } from './response.ts';

/** Who a client is to the service. Names are those of `GET /whoami`; a later version may add some. */
export interface Identity {
  credential: {
    /** `none`: the service has no authentication. */
    kind: 'tenant_key' | 'service_key' | 'token' | 'none';
    /** Of a key. */
    id: string | null;
    label: string | null;
    /** Of a token. */
    subject: string | null;
  };
  tenant: {
    id: string;
    /** `false`: the first write creates it. */
    exists: boolean;
    /** Whether its files can only be read and deleted. */
    archived: boolean;
  };
  rights: {
    /** `read_write`, `propose`, `read_only`, or what a later version of the service has. */
    access: string;
    creates_tenants: boolean;
    manages_stores: boolean;
  };
  /** By name; 0 means no limit. */
  limits: Record<string, number>;
  settings: Record<string, string>;
  /** The directories that show other memories. */
  mounts: { path: string; access: string; instructions: string }[];
  /** Of the service. */
  version: string;
}

export function readIdentity(body: Record<string, unknown>): Identity | undefined {
  const { credential, tenant, rights, limits, settings, mounts, version } = body;
  const isIdentity =
    [credential, tenant, rights, limits, settings].every(isObject) &&
    Array.isArray(mounts) &&
    typeof version === 'string';
  return isIdentity ? (body as unknown as Identity) : undefined;
}
