import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
} from 'fastify';
import fp from 'fastify-plugin';
import type { z } from 'zod';
import {
  type AnyOperation,
  ARCHIVE,
  JSON_LINES,
  JSON_TYPE,
  type OperationTypes,
  type ResponseDescription,
  TEXT,
} from '../lib/operation.ts';
import { EVENT_STREAM } from '../lib/server-sent-events.ts';
import { utf8Problem } from './json-body.ts';

/** The behavior that all operations in an API share. */
export interface OperationApi<Types extends OperationTypes> {
  /** Returns the route configuration that authentication, permissions, and audit read. */
  routeConfig(operation: AnyOperation<Types>): FastifyContextConfig;
  /** Documents the operation's errors, including the errors that all operations share. */
  describeErrors(operation: AnyOperation<Types>): Record<number, object>;
  /** Executes the operation within the API's limits and returns the response. */
  respond(operation: AnyOperation<Types>, request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

export async function operationRoutes<Types extends OperationTypes>(
  app: FastifyInstance,
  api: OperationApi<Types>,
  operations: readonly AnyOperation<Types>[],
): Promise<void> {
  for (const operation of operations) {
    const { bodyType } = operation;
    if (bodyType === undefined) declareRoute(app, api, operation);
    else {
      await app.register(async (scope) => {
        scope.register(bodyType === ARCHIVE ? archiveBody : textBody);
        declareRoute(scope, api, operation);
      });
    }
  }
}

function declareRoute<Types extends OperationTypes>(
  app: FastifyInstance,
  api: OperationApi<Types>,
  operation: AnyOperation<Types>,
): void {
  const { id, method, url, summary, description, tag, params, query, body, bodyType, headers } = operation;
  const { status = 200, response, otherResponses = {} } = operation;
  app.route({
    method,
    url,
    // The default HEAD route would create the whole archive.
    exposeHeadRoute: response.mediaType !== ARCHIVE,
    config: {
      ...api.routeConfig(operation),
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
        ...successResponses({ [status]: response, ...otherResponses }),
        ...api.describeErrors(operation),
      },
    },
    handler: (request, reply) => api.respond(operation, request, reply),
  });
}

const EMPTY = new Set(['204', '304']);

function successResponses(responses: Record<number, ResponseDescription>): Record<string, object> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const { description, schema, mediaType = JSON_TYPE, lines, events, headers } = response;
      if (EMPTY.has(status)) return [status, schema.meta({ description })];
      const content = {
        [mediaType]: { schema },
        ...(lines && { [JSON_LINES]: { schema: lines } }),
        ...(events && { [EVENT_STREAM]: { schema: events } }),
      };
      return [status, { description, ...(headers && { headers }), content }];
    }),
  );
}

/** Restricts a scope's routes to text bodies in UTF-8. */
const textBody = fp(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(TEXT, { parseAs: 'buffer' }, (request, body, done) => {
      const problem = utf8Problem(request.headers, body as Buffer);
      if (problem !== undefined) done(problem);
      else done(null, body.toString('utf8'));
    });
  },
  { name: 'text-body' },
);

/** Restricts a scope's routes to archive bodies, which the operation reads as a stream. */
const archiveBody = fp(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser(ARCHIVE, (_request, body, done) => done(null, body));
  },
  { name: 'archive-body' },
);

/**
 * Returns Fastify's validator for one part of the input.
 *
 * @param validate throws the API's error
 */
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
