import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll } from 'vitest';

interface Payload {
  type: string;
  timestamp: string;
  data: {
    tenant: string;
    type: string;
    content?: string | null;
    version: { path: string | null };
    detail?: string;
  };
}

export interface ReceivedMessage {
  id: string;
  body: string;
  headers: IncomingHttpHeaders;
  payload: Payload;
}

type Respond = (response: ServerResponse, message: ReceivedMessage) => void;

export interface TestReceiver {
  url: string;
  messages: ReceivedMessage[];
  /** Responds to the next messages. The default is 204. */
  respond: Respond;
  /** Types and paths of the accepted and rejected messages, in order. */
  texts(): string[];
}

const accept: Respond = (response) => response.writeHead(204).end();

/** Starts an HTTP server that records webhook messages, until the file's tests end. */
export async function startReceiver(respond: Respond = accept): Promise<TestReceiver> {
  const receiver: TestReceiver = {
    url: '',
    messages: [],
    respond,
    texts: () => receiver.messages.map(({ payload: { type, data } }) => `${type} ${data.version?.path}`),
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const { headers } = request;
    const message = { id: String(headers['webhook-id']), body, headers, payload: JSON.parse(body) };
    receiver.messages.push(message);
    receiver.respond(response, message);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
}

/** Responds with a status, and with an `Retry-After` header if one is given. */
export const status =
  (code: number, headers: Record<string, string> = {}): Respond =>
  (response) =>
    response.writeHead(code, headers).end('not stored');

/** Whether the reference library accepts a message's signature. */
export function isSignedWith(secret: string, { body, headers }: ReceivedMessage): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}
