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
 * How long a request waits for an earlier one of its session. Not long: without routing by session, that one may be
 * at another replica.
 */
const GAP_TIMEOUT_MS = 50;
/** Longer ones are not ours. */
const MAX_SESSION_ID_LENGTH = 64;

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a request to `/mcp` that names its session. */
    mcpTurn: Turn | undefined;
  }
}

/** The SDK takes long to load, so only a service that listens loads it before the first request. */
let loading: Promise<typeof import('./exchange.ts')> | undefined;
const load = () => {
  loading ??= import('./exchange.ts');
  return loading;
};

/**
 * `POST /mcp`: MCP over streamable HTTP for the request's tenant. Any replica answers any request: of a session,
 * nothing but the order of its requests is kept, and that only as long as there are some.
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

/** @throws ServiceError when a call has no result, as for `/execute` */
async function exchange(
  request: FastifyRequest,
  reply: FastifyReply,
  services: Services,
): Promise<McpResponse> {
  const { answerMessages } = await load();
  // Ends what is left to do for a caller that has gone, or was told that it took too long.
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
    // There is nothing but JSON in a response, whatever else is accepted.
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
        // The slot is held as long as anything is worked on, also for a caller that has gone.
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

/** Runs the calls of a request as `/execute` does: those of a batch as the blocks of an array. */
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

/** What names a session in this process: no caller can use one of another. */
function sessionKey(request: FastifyRequest, id: string): string {
  const { tenant, actor } = contextOf(request).principal;
  return JSON.stringify([tenant, actor, id]);
}

function sessionOf(request: FastifyRequest): string | undefined {
  const id = request.headers['mcp-session-id'];
  if (typeof id !== 'string' || id.length > MAX_SESSION_ID_LENGTH) return undefined;
  return sessionKey(request, id);
}

/** RFC 9728, section 5.1: where the caller learns how to get a token. */
function challengeOf(request: FastifyRequest, config: Config): string {
  const base = publicUrlOf(request, config);
  return base === undefined ? 'Bearer' : `Bearer resource_metadata="${base}${METADATA_PATH}/mcp"`;
}
