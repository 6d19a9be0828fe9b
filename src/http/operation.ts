import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
} from 'fastify';
import type { z } from 'zod';

/*
 * Operations of an HTTP API: the admin API (src/admin) and the Memory Stores API (src/agents/memory-stores). The
 * route and its documentation follow from one definition. Each API adds its context, authentication, permissions,
 * audit, limits, and the shape of its errors (`OperationApi`). No operation knows Fastify.
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

/** Description of a response of success in OpenAPI. */
export interface ResponseDescription {
  description: string;
  schema: z.ZodType;
  /** By default JSON. */
  mediaType?: 'text/plain';
  headers?: Record<string, object>;
}

/** A response over HTTP that is not only JSON. */
export interface EncodedResponse {
  status?: number;
  headers?: Record<string, string>;
  body: string | object | null;
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
  bodyType?: 'text/plain';
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
  encode?(output: Output, headers: Headers): EncodedResponse;
  /** Reads a response that `encode` returned. */
  decode?(response: Response): Promise<Output>;
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

/** What an API does for all its operations. */
export interface OperationApi<Types extends OperationTypes> {
  /** Returns the settings of the route that authentication, permissions, and audit read. */
  configOf(operation: AnyOperation<Types>): FastifyContextConfig;
  /** Documents the errors of the operation: its own, and those of every operation. */
  errorResponsesOf(operation: AnyOperation<Types>): Record<number, object>;
  /** Runs the operation within the limits of the API, and returns the response. */
  respond(operation: AnyOperation<Types>, request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

/** Declares the route of an operation. */
export function operationRoute<Types extends OperationTypes>(
  app: FastifyInstance,
  api: OperationApi<Types>,
  operation: AnyOperation<Types>,
): void {
  const { id, method, url, summary, description, tag, params, query, body, bodyType, headers } = operation;
  const { status = 200, response, otherResponses = {} } = operation;
  app.route({
    method,
    url,
    config: {
      ...api.configOf(operation),
      hasNoBody: body === undefined,
      ...(bodyType && { bodyType }),
    },
    schema: {
      operationId: id,
      summary,
      ...(description && { description }),
      tags: [tag],
      ...(bodyType && { consumes: [bodyType] }),
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
      ...(headers && { headers }),
      response: {
        ...successes({ [status]: response, ...otherResponses }),
        ...api.errorResponsesOf(operation),
      },
    },
    handler: (request, reply) => api.respond(operation, request, reply),
  });
}

/** Statuses of responses without a body. */
const EMPTY = new Set(['204', '304']);

function successes(responses: Record<number, ResponseDescription>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { description, schema, mediaType, headers }]) => {
      if (EMPTY.has(status)) return [status, schema.meta({ description })];
      const content = { [mediaType ?? 'application/json']: { schema } };
      return [status, { description, content, ...(headers && { headers }) }];
    }),
  );
}

/** Returns Fastify's validator of a part of the input. @param validate throws the error of the API */
export function inputValidator(
  validate: <T>(schema: z.ZodType<T>, part: string, given: unknown) => T,
): FastifySchemaCompiler<z.ZodType> {
  return ({ schema, httpPart = '' }) =>
    (given: unknown) => {
      try {
        return { value: validate(schema, httpPart, given) };
      } catch (error) {
        return { error: error as Error };
      }
    };
}
