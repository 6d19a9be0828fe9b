import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { expect } from 'vitest';
import { type Message, readMessages } from './event-messages.ts';

type ChangeMessage = Message<
  { type: string; tenant: string; version: { path: string | null } } & { code: string }
>;

const FILE_EVENTS = 'type=created&type=modified&type=renamed&type=deleted&type=restored&type=redacted';

/** Reads server-sent events with changes to files. */
export class ChangeReader {
  readonly #response: IncomingMessage;
  readonly #messages: AsyncIterator<ChangeMessage>;
  /** Position at the start, which the first message has. */
  start: string | undefined;

  private constructor(response: IncomingMessage) {
    this.#response = response.setEncoding('utf8').on('error', () => {});
    this.#messages = readMessages(this.#response);
  }

  static async open(
    app: FastifyInstance,
    path: string,
    headers: Record<string, string>,
  ): Promise<ChangeReader> {
    const { port } = app.server.address() as AddressInfo;
    const request = get({
      port,
      path: `/v1/${path}${path.includes('?') ? '&' : '?'}${FILE_EVENTS}`,
      headers: { accept: 'text/event-stream', ...headers },
      agent: false,
    });
    request.on('error', () => {});
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect([response.statusCode, response.headers['content-type']]).toStrictEqual([200, 'text/event-stream']);
    const client = new ChangeReader(response);
    client.start = (await client.next()).id;
    return client;
  }

  async next(): Promise<ChangeMessage> {
    const { done, value } = await this.#messages.next();
    if (done) throw new Error('The stream has ended.');
    return value;
  }

  /** Returns the next event that has data. */
  async nextChange(): Promise<ChangeMessage['data']> {
    for (;;) {
      const { data } = await this.next();
      if (data !== undefined) return data;
    }
  }

  async change(): Promise<string> {
    const { data } = await this.next();
    return `${data?.type} ${data?.version.path}`;
  }

  close(): void {
    this.#response.destroy();
  }
}
