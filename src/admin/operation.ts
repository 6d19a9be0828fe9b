import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { MergeThreads } from '../drafts/line-merge.ts';
import type { ServiceError } from '../errors/errors.ts';
import type { Services } from '../files/services.ts';
import type { Compare } from '../history/patch.ts';
import { type AnyOperation, type Operation, type OperationInput, operationsOf } from '../lib/operation.ts';
import type { Origin } from '../memory/origin.ts';
import type { AuditSubject } from '../tenants/audit.ts';
import type { Administrator } from '../tenants/authenticator.ts';
import type { TenantRow } from '../tenants/queries.ts';

/** Context of one call of the admin API. The command line gives it too, and runs operations in its own process. */
export interface AdminContext {
  config: Config;
  database: Database;
  /** Reads and changes files as requests do. The command line opens it on demand. */
  services(): Promise<Services>;
  /** Compares texts. In the service, another thread does. */
  compare: Compare;
  merges: MergeThreads;
  administrator: Administrator;
  /** Metadata for the versions that the operation creates. */
  origin: Origin;
  /** The tenant that the URL names. Operations below `/tenants/:tenant/` have it. */
  tenant: TenantRow;
  /** Aborts when the caller has left. */
  signal: AbortSignal;
  /** Runs heavy work that begins later than the operation, in a slot as `isHeavy` does. */
  inSlot<T>(work: () => Promise<T>): Promise<T>;
  /** Adds the subject and details of the change to the audit trail and the log. */
  note(subject: AuditSubject): void;
  /** Shows the progress. Over HTTP, only a response in lines has it. */
  onProgress?: ((progress: OperationProgress) => void) | undefined;
}

/** How far an operation is. */
export type OperationProgress =
  | { step: 'read'; items: number }
  | { step: 'check'; files: number; bytes: number }
  | { step: 'write'; files: number; of: number };

/** Types of the operations of the admin API. */
export interface AdminTypes {
  context: AdminContext;
  rules: {
    /** Access that an admin key needs (see permissions.ts for the defaults). */
    access?: Administrator['access'];
    /** Keys with a scope that may call the operation (see permissions.ts for the defaults). */
    scope?: 'tenant' | 'fleet' | 'handler';
    /** Whether the operation waits for a slot for heavy work. */
    isHeavy?: boolean;
    /** Whether `run` itself fails when there is no such tenant. Then it has no `tenant`. */
    findsTenant?: boolean;
  };
  error: ServiceError;
}

export type AdminOperation<Params, Query, Body, Output, Headers> = Operation<
  AdminTypes,
  Params,
  Query,
  Body,
  Output,
  Headers
>;
export type AnyAdminOperation = AnyOperation<AdminTypes>;
export type AdminCall<Params = unknown, Query = unknown, Body = unknown, Headers = unknown> = AdminContext &
  OperationInput<Params, Query, Body, Headers>;

export const defineOperation = operationsOf<AdminTypes>();

/** Whether the tenant in the URL has to be found before the operation runs. */
export function needsTenant({
  url,
  findsTenant = false,
}: Pick<AnyAdminOperation, 'url' | 'findsTenant'>): boolean {
  return url.startsWith('/tenants/:tenant/') && !findsTenant;
}

/** Whether a call changes nothing because it asks for a dry run. */
export function isDryRun({ body, query }: { body: unknown; query: unknown }): boolean {
  return [body, query].some(
    (each) => typeof each === 'object' && each !== null && 'dry_run' in each && each.dry_run === true,
  );
}

/** Header in which a command on the socket of a service names its operator: JSON, percent-encoded. */
export const OPERATOR_HEADER = 'memory-service-operator';

/** The user of the operating system who runs a command, and the host. */
export interface Operator {
  name: string;
  host: string;
}

/**
 * Header with which the command line asks for the reason and the values of an error, and the response has them: JSON,
 * percent-encoded. The command line makes the same message and hint from them as on the database.
 */
export const ERROR_HEADER = 'memory-service-error';
