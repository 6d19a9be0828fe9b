import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import { ServiceError } from '../../errors/errors.ts';
import { instructionsFor } from '../../files/mounts/instructions.ts';
import type { Services } from '../../files/services.ts';
import { quality } from '../../http/accept.ts';
import { contextOf } from '../../http/authentication.ts';
import { inFlightOf } from '../../http/capacity.ts';
import { problemFor } from '../../http/problem-details.ts';
import { version } from '../../lib/version.ts';
import { callsInTurn, executeInTurn } from '../execute.ts';
import { METADATA_PATH, publicUrlOf } from '../protected-resource.ts';
import { mcpResponseBytes } from '../result-bounds.ts';
import { tools } from '../tool.ts';
import type { ExecuteTool } from './call.ts';
import type { McpResponse } from './exchange.ts';
import { orderOf, Sessions, type Turn } from './sessions.ts';

const SERVER = { name: 'memory-service', version };
/**
 * Maximum time that a request waits for an earlier request of its session. The time is short because the earlier
 * request may be at another replica.
 */
const GAP_TIMEOUT_MS = 50;
/** The service issues UUIDs as session IDs, so a longer ID cannot be one of them. */
const MAX_SESSION_ID_LENGTH = 64;

declare module 'fastify' {
  interface FastifyRequest {
    /** The place in the sequence of the session. Undefined for requests without a session. */
    mcpTurn: Turn | undefined;
  }
}

/** The SDK takes long to load. A listening service therefore loads it before the first request. */
let loading: Promise<typeof import('./exchange.ts')> | undefined;
const load = () => {
  loading ??= import('./exchange.ts');
  return loading;
};

/**
 * Serves `POST /mcp`: MCP over streamable HTTP for the tenant of the request. Every replica can handle every request,
 * because a session only determines the sequence of its current requests.
 */
export async function mcpRoute(app: FastifyInstance, services: Services): Promise<void> {
  const sessions = new Sessions({ gapTimeoutMs: GAP_TIMEOUT_MS });
  app.decorateRequest('mcpTurn');
  app.addHook('onListen', async () => {
    await load();
  });
  app.post(
    '/mcp',
    {
      config: { challenge: (request) => challengeOf(request, services.config) },
      schema: { hide: true },
      onRequest: async (request, reply) => {
        const session = sessionOf(request);
        if (session === undefined) return;
        const turn = sessions.open(session).arrive();
        request.mcpTurn = turn;
        reply.raw.once('close', () => turn.end());
      },
    },
    async (request, reply) => {
      const { mcpTurn: turn, body } = request;
      await turn?.start(orderOf(body));
      try {
        const response = await exchange(request, reply, services);
        if (response.isNewSession) reply.header('Mcp-Session-Id', newSession(request));
        return send(request, reply, response);
      } finally {
        turn?.end();
      }
    },
  );

  function newSession(request: FastifyRequest): string {
    const id = crypto.randomUUID();
    const ownId = orderOf(request.body);
    sessions.open(sessionKey(request, id), ownId === undefined ? undefined : ownId + 1);
    return id;
  }
}

/** @throws ServiceError if a call has no result, as for `/execute` */
async function exchange(
  request: FastifyRequest,
  reply: FastifyReply,
  services: Services,
): Promise<McpResponse> {
  const { answerMessages } = await load();
  // Aborts the remaining work after a disconnect or a timeout.
  const over = new AbortController();
  reply.raw.once('close', () => over.abort());
  let fault: ServiceError | undefined;
  const run = runnerFor(request, services);
  const running = new Set<Promise<unknown>>();
  const execute: ExecuteTool = async (call) => {
    over.signal.throwIfAborted();
    const result = run(call);
    running.add(result);
    try {
      return await result;
    } catch (error) {
      fault ??= problemFor(error);
      throw error;
    } finally {
      running.delete(result);
    }
  };
  try {
    const { accept, 'mcp-protocol-version': protocolVersion } = request.headers;
    // The response is always JSON, so a client may accept JSON alone.
    const acceptsJson = accept === undefined || quality(accept, 'application/json') > 0;
    const instructions = async () => {
      const call = { ...contextOf(request), ip: request.ip };
      return (await instructionsFor(call, services, true)).content;
    };
    const work = async () => {
      try {
        return await answerMessages(
          SERVER,
          { execute, instructions },
          {
            body: request.body,
            accept: acceptsJson ? undefined : accept,
            protocolVersion: protocolVersion?.toString(),
            signal: over.signal,
          },
        );
      } finally {
        // The slot is needed until all calls have ended, even after a disconnect.
        await Promise.allSettled(running);
      }
    };
    const bytes = mcpResponseBytes(request.body, contextOf(request).policy.limits);
    const response = await inFlightOf(request).work(bytes, work);
    if (fault) throw fault;
    return response;
  } finally {
    over.abort();
  }
}

/** Returns a function that runs calls like `/execute`. The calls of a batch run like the blocks of an array. */
function runnerFor(request: FastifyRequest, services: Services): ExecuteTool {
  const run = Array.isArray(request.body)
    ? callsInTurn(request, services)
    : (call: Parameters<typeof executeInTurn>[1]) => executeInTurn(request, call, services);
  return async ({ id, name, input }) => {
    const tool = tools.find((each) => each === name);
    if (tool === undefined)
      throw new ServiceError('internal_error', new Error('a tool that MCP does not list'));
    const { content, isError } = await run({
      tool,
      input: input as Record<string, unknown>,
      toolUseId: id,
    });
    return { content, isError };
  };
}

function send(request: FastifyRequest, reply: FastifyReply, response: McpResponse): FastifyReply {
  const { logEntry } = request;
  logEntry.command ??= response.methods;
  logEntry.outcome ??= response.status >= 400 ? 'error' : 'ok';
  reply.code(response.status);
  if (response.body === '') return reply.send();
  return reply.type('application/json; charset=utf-8').send(response.body);
}

/**
 * Returns the key of a session in this process. The key contains the caller, so that no caller can use the session of
 * another caller.
 */
function sessionKey(request: FastifyRequest, id: string): string {
  const { tenant, actor } = contextOf(request).principal;
  return JSON.stringify([tenant, actor, id]);
}

function sessionOf(request: FastifyRequest): string | undefined {
  const id = request.headers['mcp-session-id'];
  if (typeof id !== 'string' || id.length > MAX_SESSION_ID_LENGTH) return undefined;
  return sessionKey(request, id);
}

/** Returns the URL at which the caller learns how to get a token (RFC 9728, section 5.1). */
function challengeOf(request: FastifyRequest, config: Config): string {
  const base = publicUrlOf(request, config);
  return base === undefined ? 'Bearer' : `Bearer resource_metadata="${base}${METADATA_PATH}/mcp"`;
}
