import type { Database } from '../../core/database/database.ts';
import type { ServiceError } from '../../core/errors/errors.ts';
import type { History } from '../../core/history/history.ts';
import type { RequestContext } from '../../core/http/authentication.ts';
import { type AnyOperation, operationDefiner } from '../../core/lib/operation.ts';
import type { Origin } from '../../core/memory/origin.ts';
import type { Redaction } from '../../core/memory/secrets/secrets.ts';
import type { Stores } from '../../core/tenants/stores.ts';
import type { Access } from './authenticate.ts';
import type { StoreError } from './store-errors.ts';
import type { Memories } from './stored-memories.ts';

export interface StoreContext extends RequestContext {
  database: Database;
  stores: Stores;
  history: History;
  /** Store ID, which is also its tenant's ID. */
  store: string;
  /** Tenant that contains the memories: the store, or a propose-only key's draft after its first write. */
  tenant: string;
  origin: Origin;
  memories: Memories;
  /** Returns how a write handles secrets and kept-out texts; undefined stores every text. */
  redaction(): Redaction | undefined | Promise<Redaction | undefined>;
}

export interface StoreTypes {
  context: StoreContext;
  rules: {
    access: Access;
    /** Whether the operation accepts a suspended store, such as a store whose deletion was interrupted. */
    isForSuspended?: boolean;
    /**
     * Maximum content bytes in a full response, which are reserved before the contents are read or written.
     */
    contentBytes?(limits: RequestContext['policy']['limits']): number;
  };
  error: StoreError | ServiceError;
}

export type StoreOperation = AnyOperation<StoreTypes>;

export const defineOperation = operationDefiner<StoreTypes>();
