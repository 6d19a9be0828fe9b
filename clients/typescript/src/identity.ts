import { isObject } from './response.ts';

/** The caller as the service identifies it, with the fields of `GET /whoami`. A later version may add fields. */
export interface Identity {
  credential: {
    /** `none` means that the service has no authentication. */
    kind: 'tenant_key' | 'service_key' | 'token' | 'none';
    /** ID of the API key. Null for other credentials. */
    id: string | null;
    /** Label of the API key. Null for other credentials. */
    label: string | null;
    /** Subject of the JSON Web Token. Null for other credentials. */
    subject: string | null;
  };
  tenant: {
    id: string;
    /** `false` if the first write will create the tenant. */
    exists: boolean;
    /** Whether its files can only be read and deleted. */
    archived: boolean;
  };
  rights: {
    /** `read_write`, `propose`, `read_only`, or a value of a later version of the service. */
    access: string;
    creates_tenants: boolean;
    manages_stores: boolean;
    /** Rights by path; the longest path applies. Missing in earlier versions of the service. */
    paths?: { path: string; access: string }[];
    can_share: boolean;
  };
  /** Limits by name; 0 means no limit. */
  limits: Record<string, number>;
  settings: Record<string, string>;
  /** Directories that show memories of other tenants. */
  mounts: { path: string; access: string; instructions: string }[];
  /** Version of the service. */
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
