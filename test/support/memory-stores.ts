import type { AddressInfo } from 'node:net';
import Anthropic, { type ClientOptions } from '@anthropic-ai/sdk';
import { expect } from 'vitest';
import type { KeyPurpose } from '../../src/core/tenants/keys.ts';
import { makeKey } from './admin.ts';
import type { Service } from './test-service.ts';

/** Issues a key, by default with full access to all stores. */
export async function storeKey(service: Service, purpose: Partial<KeyPurpose> = {}): Promise<string> {
  return (await makeKey(service, { managesStores: true, ...purpose })).key;
}

/**
 * Creates an unmodified SDK client whose requests reach the service without a socket. It does not retry requests.
 */
export function sdk(service: Service, apiKey: string, options: ClientOptions = {}): Anthropic {
  return new Anthropic({
    apiKey,
    baseURL: 'http://localhost',
    maxRetries: 0,
    fetch: fetchFrom(service),
    ...options,
  });
}

/** Implements `fetch` with Fastify's `inject`. */
export function fetchFrom({ app }: Service): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const body = Buffer.from(await request.arrayBuffer());
    const answer = await app.inject({
      method: request.method as 'GET',
      url: pathname + search,
      headers: Object.fromEntries(request.headers),
      ...(init?.body ? { payload: body } : {}),
    });
    return new Response(answer.rawPayload, {
      status: answer.statusCode,
      headers: Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]),
    });
  };
}

/** Expects an SDK call to fail with a status and an error type, and returns the error. */
export async function expectError(
  call: Promise<unknown>,
  status: number,
  type: string,
): Promise<InstanceType<typeof Anthropic.APIError>> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Anthropic.APIError);
  const failed = error as InstanceType<typeof Anthropic.APIError>;
  expect({ status: failed.status, type: failed.type }).toStrictEqual({ status, type });
  return failed;
}

/** Makes the service listen on a socket, once, and returns its URL. */
export async function listenOn({ app }: Service): Promise<string> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
}

/** Collects a list from the SDK page by page. */
export async function readAll<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

export const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
