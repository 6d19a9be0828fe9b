import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { ServiceError } from '../errors/errors.ts';
import type { Services } from '../files/services.ts';
import type { MergeThreads } from '../history/line-merge.ts';
import type { Compare } from '../history/patch.ts';
import { isObject } from '../lib/json.ts';
import {
  type AnyOperation,
  type Operation,
  type OperationInput,
  operationDefiner,
} from '../lib/operation.ts';
import type { Origin } from '../memory/origin.ts';
import type { AuditSubject } from '../tenants/audit.ts';
import type { Administrator } from '../tenants/authenticator.ts';
import type { TenantRow } from '../tenants/queries.ts';

/**
 * Context for one admin API call. The command line creates the context itself to run operations in its process.
 */
export interface AdminContext {
  config: Config;
  database: Database;
  /** Returns the services that read and change files. The command line creates the services on demand. */
  services(): Promise<Services>;
  /** Compares two texts. The service compares them in a worker thread. */
  compare: Compare;
  merges: MergeThreads;
  administrator: Administrator;
  /** Metadata for the versions that the operation creates. */
  origin: Origin;
  /** The tenant in the URL. Only operations below `/tenants/:tenant/` may read it. */
  tenant: TenantRow;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
  /**
   * Runs heavy work in a slot, for operations that start the work after their beginning. Other operations set
   * `isHeavy`.
   */
  inSlot<T>(work: () => Promise<T>): Promise<T>;
  /** Adds the change's subject and details to the audit trail and the log. */
  note(subject: AuditSubject): void;
  /** Reports progress. Over HTTP, it is undefined unless the response streams JSON lines. */
  onProgress?: ((progress: OperationProgress) => void) | undefined;
}

export type OperationProgress =
  | { step: 'read'; items: number }
  | { step: 'check'; files: number; bytes: number }
  | { step: 'write'; files: number; of: number };

export interface AdminTypes {
  context: AdminContext;
  rules: {
    /** Access that an admin key needs (see permissions.ts for the defaults). */
    access?: Administrator['access'];
    /** Keys with a scope that may call the operation (see permissions.ts for the defaults). */
    scope?: 'tenant' | 'fleet' | 'handler';
    /** Whether the operation waits for a slot for heavy work. */
    isHeavy?: boolean;
    /** Whether `run` fails itself if the tenant does not exist. The context then has no `tenant`. */
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

export const defineOperation = operationDefiner<AdminTypes>();

/** Returns the operations that modules export. */
export function operationsIn(...modules: readonly object[]): AnyAdminOperation[] {
  return modules.flatMap((module) => Object.values(module)).filter(isOperation);
}

function isOperation(exported: unknown): exported is AnyAdminOperation {
  return isObject(exported) && 'url' in exported && 'run' in exported;
}

/** Whether to look up the tenant in the URL before the operation runs. */
export function needsTenant({
  url,
  findsTenant = false,
}: Pick<AnyAdminOperation, 'url' | 'findsTenant'>): boolean {
  return url.startsWith('/tenants/:tenant/') && !findsTenant;
}

/** Whether a call asks for a dry run, which changes no data. */
export function isDryRun({ body, query }: { body: unknown; query: unknown }): boolean {
  return [body, query].some(
    (each) => typeof each === 'object' && each !== null && 'dry_run' in each && each.dry_run === true,
  );
}

/** Header with which a command on a service's socket identifies its operator, as percent-encoded JSON. */
export const OPERATOR_HEADER = 'memory-service-operator';

/** The operating system user who runs a command, and the host. */
export interface Operator {
  name: string;
  host: string;
}

/**
 * Header with which the command line asks for an error's reason and values, and which returns them as percent-encoded
 * JSON. The command line creates the same message and hint from them as in its own process.
 */
export const ERROR_HEADER = 'memory-service-error';
