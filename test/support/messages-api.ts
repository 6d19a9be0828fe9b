/**
 * A fake Messages API that plays a scripted conversation. It sends the next reply to each request and records the
 * request for the test. Like the real API, it rejects context editing without the beta header and a turn without
 * results for all tool calls.
 */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

export type Block =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown };

/** A tool result as received, with all fields in the block. */
export type ToolResult = { type: 'tool_result'; tool_use_id: string; content: unknown; is_error?: boolean };

export interface Message {
  role: 'user' | 'assistant';
  content: string | (Block | ToolResult)[];
}

export interface MessagesRequest {
  headers: IncomingHttpHeaders;
  body: {
    messages: Message[];
    system?: unknown[];
    tools?: { type?: string; name?: string }[];
    stream?: boolean;
    context_management?: unknown;
    /** The Anthropic SDK's tool runner sends a conversation once and then only new messages. */
    thread?: { type: 'create' } | { type: 'continue'; previous_message_id: string };
  };
}

/** An assistant turn. `context_management` lists the cleared results that the API reports. */
export type Reply = Block[] | { content: Block[]; context_management: object };

export interface MessagesApi {
  /** Value for `ANTHROPIC_BASE_URL`. */
  url: string;
  /** Accepted requests. */
  requests: MessagesRequest[];
  /** Whether the API accepts a `thread`; true at the start. */
  hasThreads: boolean;
  close(): Promise<void>;
}

const BETA = 'context-management-2025-06-27';

/** Starts the fake API on a free port. It plays the replies once, in order. */
export async function startMessagesApi(replies: readonly Reply[]): Promise<MessagesApi> {
  const server = createServer((request, response) => {
    answer(request, response, replies, api).catch((error) => response.destroy(error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const api: MessagesApi = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    hasThreads: true,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return api;
}

/** Returns the tool results in each request's last message. The first request has none. */
export function resultsSent(api: MessagesApi): ToolResult[][] {
  return api.requests.map(({ body }) => resultsIn(body.messages.at(-1)));
}

function resultsIn(message: Message | undefined): ToolResult[] {
  if (message?.role !== 'user' || typeof message.content === 'string') return [];
  return message.content.filter((block) => block.type === 'tool_result');
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  replies: readonly Reply[],
  { requests, hasThreads }: MessagesApi,
): Promise<void> {
  const body = (await json(request)) as MessagesRequest['body'];
  if (body.thread && !hasThreads) return rejectThread(response);
  const played = replies[requests.length - 1];
  const rejection = rejectRequest(request, body, {
    id: `msg_${requests.length}`,
    content: replyContent(played),
  });
  const reply = replies[requests.length];
  if (rejection !== undefined || reply === undefined) {
    const message = rejection ?? 'The script is over.';
    const error = { type: 'error', error: { type: 'invalid_request_error', message } };
    response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(error));
    return;
  }
  requests.push({ headers: request.headers, body });
  const content = replyContent(reply);
  const message = {
    id: `msg_${requests.length}`,
    type: 'message',
    role: 'assistant',
    model: 'claude-sonnet-5-5',
    stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
    ...(Array.isArray(reply) ? {} : { context_management: reply.context_management }),
  };
  if (body.stream) return stream(response, message, content);
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ ...message, content }));
}

function rejectThread(response: ServerResponse): void {
  const details = { error_code: 'thread_unsupported_request', unsupported: [] };
  const error = { type: 'invalid_request_error', message: 'The request has a thread.', details };
  response
    .writeHead(400, { 'content-type': 'application/json' })
    .end(JSON.stringify({ type: 'error', error }));
}

function replyContent(reply: Reply | undefined): Block[] {
  return (Array.isArray(reply) ? reply : reply?.content) ?? [];
}

/**
 * Returns the error message if the real API would respond with 400. Checks only the rules that the tests need.
 *
 * @param last reply before this request
 */
function rejectRequest(
  { url, headers }: IncomingMessage,
  { messages, thread, context_management }: MessagesRequest['body'],
  last: { id: string; content: Block[] },
): string | undefined {
  // Only the base URL for the Vercel AI SDK ends in /v1.
  if (!/^(\/v1)?\/messages(\?|$)/.test(url ?? '')) return `There is no ${url}.`;
  // Newer SDKs send the key as a bearer token.
  if (headers['x-api-key'] === undefined && headers.authorization === undefined) {
    return 'x-api-key: Field required';
  }
  if (context_management !== undefined && !parseBetas(headers).includes(BETA)) {
    return 'context_management: Extra inputs are not permitted';
  }
  if (thread?.type === 'continue' && thread.previous_message_id !== last.id) {
    return `thread: there is no message ${thread.previous_message_id} to continue from`;
  }
  const before: Message[] = thread?.type === 'continue' ? [{ role: 'assistant', content: last.content }] : [];
  return findUnanswered([...before, ...messages]);
}

function findUnanswered(messages: readonly Message[]): string | undefined {
  for (const [i, { role, content }] of messages.entries()) {
    if (role !== 'assistant' || typeof content === 'string') continue;
    const called = content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
    const answered = resultsIn(messages[i + 1]).map(({ tool_use_id }) => tool_use_id);
    if (called.length !== answered.length || called.some((id) => !answered.includes(id))) {
      return `messages.${i + 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`;
    }
  }
  return undefined;
}

function parseBetas(headers: IncomingHttpHeaders): string[] {
  return String(headers['anthropic-beta'] ?? '').split(/,\s*/);
}

/** Sends the message as server-sent events, with each block's input in two chunks. */
function stream(response: ServerResponse, message: object, content: Block[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  const { stop_reason, ...start } = message as { stop_reason: string };
  send('message_start', { message: { ...start, stop_reason: null, content: [] } });
  for (const [index, block] of content.entries()) {
    const empty = block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} };
    send('content_block_start', { index, content_block: empty });
    const whole = block.type === 'text' ? block.text : JSON.stringify(block.input);
    const middle = Math.floor(whole.length / 2);
    for (const piece of [whole.slice(0, middle), whole.slice(middle)]) {
      const delta =
        block.type === 'text'
          ? { type: 'text_delta', text: piece }
          : { type: 'input_json_delta', partial_json: piece };
      send('content_block_delta', { index, delta });
    }
    send('content_block_stop', { index });
  }
  send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } });
  send('message_stop', {});
  response.end();
}
