import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { MergeThreads } from '../drafts/line-merge.ts';
import type { ServiceError } from '../errors/errors.ts';
import type { Services } from '../files/services.ts';
import type { Compare } from '../history/patch.ts';
import type { Origin } from '../memory/origin.ts';
import type { AuditSubject } from '../tenants/audit.ts';
import type { Administrator } from '../tenants/authenticator.ts';
import type { TenantRow } from '../tenants/queries.ts';

/*
 * The operations of the admin API. The route, its documentation, permissions, audit, and limits follow from one
 * definition, and the command line calls the same `run`, in its own process or through the route. No operation knows
 * Fastify.
 */

/** Input of one call, and everything that an operation works with. */
export interface OperationCall<Params, Query, Body, Headers = unknown> {
  params: Params;
  query: Query;
  body: Body;
  headers: Headers;
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

/** Media type of an archive as a body or a response. */
export const ARCHIVE = 'application/x-tar';
/** Media type of a response in lines: progress, and then the result or the error. */
export const JSON_LINES = 'application/x-ndjson';

/** Description of a response of success in OpenAPI. */
export interface ResponseDescription {
  description: string;
  schema: z.ZodType;
  /** By default JSON. */
  mediaType?: 'text/plain' | typeof ARCHIVE;
  /** Description of the response as `JSON_LINES`, for an operation that reports its progress. */
  lines?: z.ZodType;
  headers?: Record<string, object>;
}

/** A response over HTTP that is not only JSON. */
export interface EncodedResponse {
  status?: number;
  headers?: Record<string, string>;
  body: string | object | Readable | null;
}

export interface Operation<
  Params = unknown,
  Query = unknown,
  Body = unknown,
  Output = unknown,
  Headers = unknown,
> {
  /** Name in OpenAPI, the audit trail, and the log. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below `/v1`. An operation below `/tenants/:tenant/` fails with 404 when there is no such tenant. */
  url: string;
  summary: string;
  description?: string;
  tag: string;
  /** Access that an admin key needs (see permissions.ts for the defaults). */
  access?: Administrator['access'];
  /** Keys with a scope that may call the operation (see permissions.ts for the defaults). */
  scope?: 'tenant' | 'fleet' | 'handler';
  params?: z.ZodType<Params>;
  query?: z.ZodType<Query>;
  body?: z.ZodType<Body>;
  /** Media type of the body, by default JSON. */
  bodyType?: 'text/plain' | typeof ARCHIVE;
  /** Request headers with names in lower case. */
  headers?: z.ZodType<Headers>;
  /** Status of success, by default 200. With 204, `run` returns null. */
  status?: 201 | 204;
  /** URL of what the operation created, below `/v1`. */
  location?(output: Output): string;
  response: ResponseDescription;
  /** Other responses of success, by status. */
  otherResponses?: Record<number, ResponseDescription>;
  /** Errors beside those of every operation with this method and body. */
  errors?: ServiceError[];
  /** Tenant that only the body names, for the audit trail. It is recorded before the operation runs. */
  tenantOf?(body: Body): string | undefined;
  /** Whether the operation waits for its turn among the heavy ones of the listener. */
  isHeavy?: boolean;
  run(call: OperationCall<Params, Query, Body, Headers>): Promise<Output>;
  /** Returns the response over HTTP; by default the output as JSON. A heavy operation still has its slot. */
  encode?(output: Output, headers: Headers): EncodedResponse | Promise<EncodedResponse>;
  /** Reads a response that `encode` returned. */
  decode?(response: Response, params: Params): Promise<Output>;
}

/** Declares an operation, with types inferred from its schemas. */
export function defineOperation<Params, Query, Body, Output extends object | null, Headers>(
  operation: Operation<Params, Query, Body, Output, Headers>,
): Operation<Params, Query, Body, Output, Headers> {
  return operation;
}

/** Whether a call changes nothing because it asks for a dry run. */
export function isDryRun({ body, query }: { body: unknown; query: unknown }): boolean {
  return [body, query].some(
    (each) => typeof each === 'object' && each !== null && 'dry_run' in each && each.dry_run === true,
  );
}

/** An operation with any input and output. */
export type AnyOperation = Operation<unknown, unknown, unknown, object | null>;

/**
 * Header with which the command line asks for the reason and the values of an error, and the response has them: JSON,
 * percent-encoded. The command line makes the same message and hint from them as on the database.
 */
export const ERROR_HEADER = 'memory-service-error';
