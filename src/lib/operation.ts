import type { Readable } from 'node:stream';
import type { z } from 'zod';

/*
 * Definition of the operations of the admin API (src/admin) and the Memory Stores API (src/agents/memory-stores). The
 * route and its documentation follow from one definition (src/http/operation-routes.ts). Each API adds its context,
 * permissions, audit, and limits. No operation knows Fastify: the command line runs those of the admin API itself.
 */

/** Types that an API gives its operations. */
export interface OperationTypes {
  /** Everything that an operation works with, beside its input. */
  context: object;
  /** Properties of an operation from which permissions and limits follow. */
  rules: object;
  error: Error;
}

/** Input of one call. */
export interface OperationInput<Params, Query, Body, Headers = unknown> {
  params: Params;
  query: Query;
  body: Body;
  headers: Headers;
}

/** Media type of an archive as a body or a response. */
export const ARCHIVE = 'application/x-tar';
/** Media type of a response in lines: progress, and then the result or the error. */
export const JSON_LINES = 'application/x-ndjson';
export const JSON_TYPE = 'application/json';
export const TEXT = 'text/plain';

/** Description of a response of success in OpenAPI. */
export interface ResponseDescription {
  description: string;
  schema: z.ZodType;
  /** By default JSON. */
  mediaType?: typeof TEXT | typeof ARCHIVE;
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

export type Operation<
  Types extends OperationTypes,
  Params = unknown,
  Query = unknown,
  Body = unknown,
  Output = unknown,
  Headers = unknown,
> = Types['rules'] & {
  /** Name in OpenAPI, the audit trail, and the log. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below the prefix of the API. */
  url: string;
  summary: string;
  description?: string;
  tag: string;
  params?: z.ZodType<Params>;
  query?: z.ZodType<Query>;
  body?: z.ZodType<Body>;
  /** Media type of the body, by default JSON. */
  bodyType?: typeof TEXT | typeof ARCHIVE;
  /** Request headers with names in lower case. */
  headers?: z.ZodType<Headers>;
  /** Status of success, by default 200. With 204, `run` returns null. */
  status?: 201 | 204;
  /** URL of what the operation created, below the prefix of the API. */
  location?(output: Output): string;
  response: ResponseDescription;
  /** Other responses of success, by status. */
  otherResponses?: Record<number, ResponseDescription>;
  /** Errors beside those of every operation with this method and body. */
  errors?: Types['error'][];
  /** Tenant that only the body names, for the audit trail. It is recorded before the operation runs. */
  tenantOf?(body: Body): string | undefined;
  run(call: Types['context'] & OperationInput<Params, Query, Body, Headers>): Promise<Output>;
  /** Returns the response over HTTP; by default the output as JSON. */
  encode?(output: Output, headers: Headers): EncodedResponse | Promise<EncodedResponse>;
  /** Reads a response that `encode` returned. */
  decode?(response: Response, params: Params): Promise<Output>;
};

/** Returns a function that declares operations of an API, with types inferred from their schemas. */
export function operationsOf<Types extends OperationTypes>() {
  return <Params, Query, Body, Output extends object | null, Headers>(
    operation: Operation<Types, Params, Query, Body, Output, Headers>,
  ): Operation<Types, Params, Query, Body, Output, Headers> => operation;
}

/** An operation with any input and output. */
export type AnyOperation<Types extends OperationTypes> = Operation<
  Types,
  unknown,
  unknown,
  unknown,
  object | null
>;
