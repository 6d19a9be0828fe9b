import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { callsInTurn, executeInTurn } from '../../core/agents/execute.ts';
import { MEMORY_TOOL, toolsFor, type ValidCall } from '../../core/agents/tool.ts';
import type { Config } from '../../core/config.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import { instructionsFor } from '../../core/files/mounts/mount-instructions.ts';
import type { Services } from '../../core/files/services.ts';
import { requireContext } from '../../core/http/authentication.ts';
import { requireInFlight } from '../../core/http/capacity.ts';
import { handleError, problemFor, toServiceError } from '../../core/http/problem-details.ts';
import { SerialQueue } from '../../core/lib/queues.ts';
import { version } from '../../core/lib/service-version.ts';
import { ROOT } from '../../core/memory/path.ts';
import { CallOrder, requestAccess } from './call-order.ts';
import type { McpRequest, McpResponse } from './exchange.ts';
import type { ToolResult } from './mcp-call.ts';
import type { ServedMemory } from './mcp-server.ts';
import { requestOrder, Sessions } from './mcp-sessions.ts';
import { authorizationServer, METADATA_PATH, toPublicUrl } from './protected-resource.ts';
import { fileAt, listFiles } from './resource-files.ts';
import { mcpResponseBytes } from './response-bytes.ts';
import { Subscriptions } from './subscriptions.ts';
import { ALL_TOOLS } from './tools.ts';

/** JSON-RPC error code for a body that is not JSON. */
const PARSE_ERROR = -32700;
const SERVER = { name: 'memory-service', version };
/**
 * Maximum time that a request waits for an earlier request in its session. The time is short because the earlier
 * request may be at another replica.
 */
const GAP_TIMEOUT_MS = 50;
/** The service issues UUIDs as session IDs, so a longer ID cannot be a session ID. */
const MAX_SESSION_ID_LENGTH = 64;

/** A request's place in an order. */
interface Place {
  start(body: unknown): Promise<void>;
  end(): void;
}

declare module 'fastify' {
  interface FastifyRequest {
    mcpPlace: Place | undefined;
  }
}

/** The SDK takes long to load. A listening service therefore loads it before the first request. */
let loading: Promise<typeof import('./exchange.ts')> | undefined;
const load = () => {
  loading ??= import('./exchange.ts');
  return loading;
};

/**
 * Serves `POST /mcp`: MCP over streamable HTTP for the request's tenant. Every replica can handle every request,
 * because the only state is the order of the current requests.
 */
export async function mcpRoute(app: FastifyInstance, services: Services): Promise<void> {
  const sessions = new Sessions({ gapTimeoutMs: GAP_TIMEOUT_MS });
  const order = new CallOrder();
  const subscriptions = new Subscriptions(services);
  app.decorateRequest('mcpPlace');
  app.addHook('onListen', async () => {
    const { warmUp } = await load();
    warmUp();
  });
  app.post(
    '/mcp',
    {
      config: { challenge: (request) => bearerChallenge(request, services.config) },
      schema: { hide: true },
      errorHandler: sendError,
      onRequest: async (request) => {
        const place = takePlace(request);
        request.mcpPlace = place;
        request.onClose.push(() => place.end());
      },
    },
    async (request, reply) => {
      const { mcpPlace: place, body, headers } = request;
      await place?.start(body);
      try {
        const { isSubscription } = await load();
        if (isSubscription({ body, headers })) return await subscribe(request, reply, subscriptions);
        const response = await exchange(request, services);
        if (response.isNewSession) reply.header('Mcp-Session-Id', newSession(request));
        return send(request, reply, response);
      } finally {
        place?.end();
      }
    },
  );

  /** Requests in a session run in ID order, and other requests in arrival order. */
  function takePlace(request: FastifyRequest): Place {
    const session = sessionHeader(request);
    if (session === undefined) {
      const arrival = order.arrive(callerKey(request));
      return { start: (body) => arrival.start(requestAccess(body)), end: () => arrival.end() };
    }
    const turn = sessions.open(session).arrive();
    return { start: (body) => turn.start(requestOrder(body)), end: () => turn.end() };
  }

  function newSession(request: FastifyRequest): string {
    const id = crypto.randomUUID();
    const ownId = requestOrder(request.body);
    sessions.open(callerKey(request, id), ownId === undefined ? undefined : ownId + 1);
    return id;
  }
}

/** @throws ServiceError if a call has no result, as for `/execute` */
async function exchange(request: FastifyRequest, services: Services): Promise<McpResponse> {
  const { respondToMessages } = await load();
  // Aborts the remaining work after a disconnect or a timeout.
  const over = new AbortController();
  request.onClose.push(() => over.abort());
  let fault: ServiceError | undefined;
  const run = runnerFor(request, services);
  // The server starts a batch's reads at the same time, and their results share one limit.
  const turns = new SerialQueue();
  const running = new Set<Promise<unknown>>();
  const track = async <T>(work: () => Promise<T>): Promise<T> => {
    over.signal.throwIfAborted();
    const result = turns.run('', work);
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
  const execute = (call: ValidCall): Promise<ToolResult> => track(() => run(call));
  try {
    const memory: ServedMemory = {
      tools: async () => ALL_TOOLS.filter(({ name }) => hasTool(request, name)),
      execute: async ({ id, name, input, trace }) =>
        execute({
          tool: toolNamed(request, name),
          input: input as Record<string, unknown>,
          toolUseId: id,
          callerTrace: trace,
        }),
      read: (path) => execute({ tool: MEMORY_TOOL, input: { command: 'view', path }, read: fileAt(path) }),
      list: () => execute({ tool: MEMORY_TOOL, input: { command: 'view', path: ROOT }, read: listFiles }),
      instructions: async () => {
        const call = { ...requireContext(request), ip: request.ip };
        return (await instructionsFor(call, services, true)).content;
      },
      texts: request.server.texts.map((text) => ({ ...text, read: () => track(() => text.read(request)) })),
    };
    const work = async () => {
      try {
        return await respondToMessages(SERVER, memory, toMcpRequest(request, over.signal));
      } finally {
        // The slot is needed until all calls have ended, even after a disconnect.
        await Promise.allSettled(running);
      }
    };
    const bytes = mcpResponseBytes(request.body, requireContext(request).policy.limits);
    const response = await requireInFlight(request).work(bytes, work);
    if (fault) throw fault;
    return response;
  } finally {
    over.abort();
  }
}

/** Sends changes to files until the client disconnects, the credential ends, or the service stops. */
async function subscribe(
  request: FastifyRequest,
  reply: FastifyReply,
  subscriptions: Subscriptions,
): Promise<FastifyReply> {
  const { openSubscription } = await load();
  const ending = request.server.streams.open(request, reply);
  request.logEntry.command = 'subscriptions/listen';
  const inFlight = requireInFlight(request);
  const { response, end } = await inFlight.work(0, () =>
    openSubscription(
      SERVER,
      (files) => subscriptions.watch(request, reply, files),
      toMcpRequest(request, inFlight.closedSignal),
    ),
  );
  // A connection that stays open after the stream would delay the service's shutdown.
  reply.code(response.status).headers({ 'X-Accel-Buffering': 'no', Connection: 'close' });
  reply.type(response.headers.get('Content-Type') ?? 'application/json');
  if (response.body === null) return reply.send();
  if (ending.aborted) await end();
  else ending.addEventListener('abort', end);
  return reply.send(Readable.fromWeb(response.body as ReadableStream));
}

/** Sends the error for a body that is not JSON as a JSON-RPC error. MCP has no form for the other errors. */
function sendError(
  error: FastifyError | ServiceError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const { code, status, message } = toServiceError(error, request);
  if (code !== 'invalid_json' && code !== 'invalid_utf8') return handleError(error, request, reply);
  request.logEntry.outcome = code;
  const body = { jsonrpc: '2.0', error: { code: PARSE_ERROR, message }, id: null };
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(body));
}

function toMcpRequest({ body, headers }: FastifyRequest, signal: AbortSignal): McpRequest {
  return { body, headers, signal };
}

/** Returns a function that runs calls like `/execute`. The calls in a batch run like the blocks in an array. */
function runnerFor(request: FastifyRequest, services: Services): (call: ValidCall) => Promise<ToolResult> {
  if (Array.isArray(request.body)) return callsInTurn(request, services);
  return (call) => executeInTurn(request, call, services);
}

function hasTool(request: FastifyRequest, name: string): boolean {
  return name === MEMORY_TOOL || toolsFor(request).some((tool) => tool.name === name);
}

function toolNamed(request: FastifyRequest, name: string): string {
  if (hasTool(request, name)) return name;
  throw new ServiceError('internal_error', new Error('a tool that MCP does not list'));
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
 * Returns the key for a caller, or for one of its sessions. The key contains the caller, so that no caller can use
 * another caller's session.
 */
function callerKey(request: FastifyRequest, session?: string): string {
  const { tenant, actor } = requireContext(request).principal;
  return JSON.stringify([tenant, actor, session]);
}

function sessionHeader(request: FastifyRequest): string | undefined {
  const id = request.headers['mcp-session-id'];
  if (typeof id !== 'string' || id.length > MAX_SESSION_ID_LENGTH) return undefined;
  return callerKey(request, id);
}

/**
 * Returns the challenge for a 401, with the URL at which the caller learns where to get a token (RFC 9728, section
 * 5.1).
 */
function bearerChallenge(request: FastifyRequest, config: Config): string {
  const base = authorizationServer(config) === undefined ? undefined : toPublicUrl(request, config);
  return base === undefined ? 'Bearer' : `Bearer resource_metadata="${base}${METADATA_PATH}/mcp"`;
}
