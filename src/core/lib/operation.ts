import type { Readable } from 'node:stream';
import type { z } from 'zod';
import type { SendEvents } from './server-sent-events.ts';

/*
 * Definition of operations in the admin API (src/core/admin) and the Memory Stores API (src/features/memory-stores).
 * src/core/http/operation-routes.ts derives the route and its documentation from a definition. Each API adds its
 * context, permissions, audit, and limits. Operations are independent of Fastify, so that the command line can run
 * admin API operations in its own process.
 */

/** Types that differ between the APIs. */
export interface OperationTypes {
  /** The values that an operation needs in addition to its input. */
  context: object;
  /** An operation's properties that determine permissions and limits. */
  rules: object;
  error: Error;
}

export interface OperationInput<Params, Query, Body, Headers = unknown> {
  params: Params;
  query: Query;
  body: Body;
  headers: Headers;
}

export const ARCHIVE = 'application/x-tar';
/** Media type for a response as JSON lines: the progress, and then the result or the error. */
export const JSON_LINES = 'application/x-ndjson';
export const JSON_TYPE = 'application/json';
export const TEXT = 'text/plain';

/** Description for a success response in OpenAPI. */
export interface ResponseDescription {
  description: string;
  schema: z.ZodType;
  /** The default is JSON. */
  mediaType?: typeof TEXT | typeof ARCHIVE;
  /** Schema for the response as `JSON_LINES`, for operations that report progress. */
  lines?: z.ZodType;
  /** Schema for the response as `EVENT_STREAM`, for operations with `stream`. */
  events?: z.ZodType;
  headers?: Record<string, object>;
}

/** An HTTP response with a status, headers, or a body other than JSON. */
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
  /** The operation's name in OpenAPI, the audit trail, and the log. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The route's path below the API's prefix. */
  url: string;
  summary: string;
  description?: string;
  tag: string;
  params?: z.ZodType<Params>;
  query?: z.ZodType<Query>;
  body?: z.ZodType<Body>;
  /** The body's media type. The default is JSON. */
  bodyType?: typeof TEXT | typeof ARCHIVE;
  /** Converts the body to bytes for a request. The default is text or JSON. */
  pack?(body: Body): Promise<AsyncIterable<Uint8Array>>;
  /** Request headers, with names in lower case. */
  headers?: z.ZodType<Headers>;
  /** Status for a success. The default is 200. With 204, `run` returns null. */
  status?: 201 | 204;
  /** Returns the created resource's URL below the API's prefix. */
  location?(output: Output): string;
  response: ResponseDescription;
  /** Other success responses by their status. */
  otherResponses?: Record<number, ResponseDescription>;
  /** Errors other than the common errors for the operation's method and body. */
  errors?: Types['error'][];
  /** Returns the tenant named by the body for the audit trail, which records the tenant before the operation runs. */
  auditedTenant?(body: Body): string | undefined;
  run(call: Types['context'] & OperationInput<Params, Query, Body, Headers>): Promise<Output>;
  /** Prepares the response as server-sent events, for clients that accept them. */
  stream?(call: Types['context'] & OperationInput<Params, Query, Body, Headers>): Promise<SendEvents>;
  /** Converts the output to an HTTP response. The default is the output as JSON. */
  encode?(output: Output, headers: Headers): EncodedResponse | Promise<EncodedResponse>;
  /** Converts a response from `encode` back to the output. */
  decode?(response: Response, params: Params): Promise<Output>;
};

/** Returns a function that declares an API's operations and infers their types from the schemas. */
export function operationDefiner<Types extends OperationTypes>() {
  return <Params, Query, Body, Output extends object | null, Headers>(
    operation: Operation<Types, Params, Query, Body, Output, Headers>,
  ): Operation<Types, Params, Query, Body, Output, Headers> => operation;
}

export type AnyOperation<Types extends OperationTypes> = Operation<
  Types,
  unknown,
  unknown,
  unknown,
  object | null
>;
