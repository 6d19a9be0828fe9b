import type { JSONRPCMessage, JSONRPCRequest, RequestId, Transport } from '@modelcontextprotocol/server';
import type { MemoryClientOptions } from 'memory-service-client';
import { isSubscription } from '../../../src/features/mcp/exchange.ts';
import { HttpError } from './http-error.ts';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
/** The JSON-RPC error code for a failure of the server. */
const INTERNAL_ERROR = -32603;

type Target = Pick<MemoryClientOptions, 'url' | 'apiKey' | 'tenant'>;

/**
 * Forwards a subscription to `/mcp` of the service, which knows the changes. The stream can be relayed verbatim, because
 * the ID of a subscription is the ID of its request.
 *
 * @returns a stream of events, or a JSON-RPC error
 * @throws HttpError if the service rejects the caller or cannot be reached
 */
export async function subscribeAtService(
  { url, apiKey, tenant }: Target,
  request: unknown,
  signal: AbortSignal,
): Promise<Response> {
  const headers = new Headers({
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Mcp-Protocol-Version': protocolVersion(request),
    'Mcp-Method': 'subscriptions/listen',
  });
  if (apiKey !== undefined) headers.set('Authorization', `Bearer ${apiKey}`);
  if (tenant !== undefined) headers.set('X-Tenant-Id', tenant);
  const target = `${String(url).replace(/\/+$/, '')}/mcp`;
  const response = await fetch(target, {
    method: 'POST',
    headers,
    body: JSON.stringify(request),
    signal,
  }).catch(() => {
    throw new HttpError(503, 'The memory service cannot be reached, so changes are not reported.');
  });
  const type = response.headers.get('Content-Type') ?? '';
  if (/^(text\/event-stream|application\/json)\b/.test(type)) return response;
  await response.body?.cancel();
  if (response.status === 404)
    throw new HttpError(503, 'The memory service reports no changes, because it runs with MCP=off.');
  throw new HttpError(response.status, `The memory service responded with ${response.status}.`);
}

/** Returns the event that ends a subscription in an orderly way. */
export function lastEvent(id: unknown): string {
  const result = { resultType: 'complete', _meta: { [SUBSCRIPTION_ID]: id } };
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;
}

/** Serves the subscriptions of a connection over standard input and output. */
export class StdioSubscriptions {
  readonly #target: Target;
  readonly #transport: Transport;
  readonly #open = new Map<RequestId, AbortController>();

  constructor(target: Target, transport: Transport) {
    this.#target = target;
    this.#transport = transport;
  }

  /** Handles the messages of subscriptions before all other handlers of the transport. */
  attach(): void {
    const { onmessage, onclose } = this.#transport;
    this.#transport.onmessage = (message, extra) => {
      if (!this.#handle(message)) onmessage?.(message, extra);
    };
    this.#transport.onclose = () => {
      for (const subscription of this.#open.values()) subscription.abort();
      onclose?.();
    };
  }

  #handle(message: JSONRPCMessage): boolean {
    if (!('method' in message)) return false;
    if ('id' in message) {
      if (!isSubscription({ body: message, headers: {} })) return false;
      void this.#relay(message);
      return true;
    }
    if (message.method !== 'notifications/cancelled') return false;
    const subscription = this.#open.get(message.params?.requestId as RequestId);
    subscription?.abort();
    return subscription !== undefined;
  }

  async #relay(request: JSONRPCRequest): Promise<void> {
    const { id } = request;
    const subscription = new AbortController();
    this.#open.set(id, subscription);
    try {
      const response = await subscribeAtService(this.#target, request, subscription.signal);
      for await (const message of readMessages(response)) {
        if (subscription.signal.aborted) return;
        await this.#transport.send(message);
      }
    } catch (error) {
      if (subscription.signal.aborted) return;
      // The stream breaks if the service fails. The error tells the host to subscribe again.
      const message =
        error instanceof HttpError ? error.message : 'The memory service ended the subscription.';
      await this.#transport.send({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } });
    } finally {
      this.#open.delete(id);
    }
  }
}

/** Reads the messages of a response, which is JSON or a stream of events with one line of data each. */
async function* readMessages(response: Response): AsyncGenerator<JSONRPCMessage> {
  if (!response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
    yield (await response.json()) as JSONRPCMessage;
    return;
  }
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length));
  }
}

function protocolVersion(request: unknown): string {
  const { params } = request as { params?: { _meta?: Record<string, unknown> } };
  return String(params?._meta?.[VERSION]);
}
