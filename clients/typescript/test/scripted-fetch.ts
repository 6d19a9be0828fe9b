/** A `fetch` with scripted responses, and fake timers. */
import { afterEach, beforeEach, vi } from 'vitest';
import {
  type ExecuteOptions,
  MemoryClient,
  type MemoryClientOptions,
  MemoryServiceError,
} from '../src/index.ts';

export interface Sent {
  /** Milliseconds since the test started. */
  at: number;
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

/** A response, a rejection, or `'hang'` for a request that ends only when it is aborted. */
export type Step = Response | Error | 'hang' | ((signal: AbortSignal) => Response);

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const VIEW = { command: 'view', path: '/memories' } as const;
export const BLOCK = { type: 'tool_use', id: 'toolu_1', name: 'memory', input: VIEW } as const;

export const okResponse = (
  body: object = { content: 'text', is_error: false },
  headers: Record<string, string> = {},
) =>
  new Response(JSON.stringify(body), {
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });

export const problemResponse = (
  status: number,
  code: string,
  detail: string,
  headers: Record<string, string> = {},
) =>
  new Response(JSON.stringify({ type: 'about:blank', status, code, detail, request_id: 'request-1' }), {
    status,
    headers: { 'content-type': 'application/problem+json', 'x-request-id': 'request-1', ...headers },
  });
export const busyResponse = (headers: Record<string, string> = {}) =>
  problemResponse(503, 'database_unavailable', 'The database is not available. Try again shortly.', headers);

/** Returns a client whose `fetch` performs the steps one by one, and repeats the last step. */
export function createScriptedClient(steps: Step[], options: Partial<MemoryClientOptions> = {}) {
  const sent: Sent[] = [];
  const start = performance.now();
  const fetch: typeof globalThis.fetch = async (url, init = {}) => {
    const headers = Object.fromEntries(new Headers(init.headers));
    sent.push({
      at: performance.now() - start,
      url: String(url),
      headers,
      body: init.body == null ? undefined : JSON.parse(String(init.body)),
    });
    const step = steps[Math.min(sent.length, steps.length) - 1];
    if (step instanceof Response) return step.clone();
    if (step instanceof Error) throw step;
    const { signal } = init;
    if (typeof step === 'function') return step(signal as AbortSignal);
    return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  };
  const client = new MemoryClient({ url: 'http://memory.test:8080', fetch, ...options });
  return { client, sent };
}

/** Node's function, because the tests replace the global one. */
const { setImmediate: onNextTurn } = globalThis;
/** Event loop turns in which a response is read. */
const TURNS = 5;

/** Returns a call's error. */
export async function callError(
  client: MemoryClient,
  options: ExecuteOptions = {},
): Promise<MemoryServiceError> {
  const error = await skipDelays(client.execute(VIEW, options).catch((error: unknown) => error));
  if (error instanceof MemoryServiceError) return error;
  throw new Error(`not a MemoryServiceError: ${error}`);
}

/** Waits for a call that never rejects. Fake timers skip all delays, but not before a response is read. */
export async function skipDelays<Result>(call: Promise<Result>): Promise<Result> {
  let isDone = false;
  void call.then(() => {
    isDone = true;
  });
  for (;;) {
    for (let turn = 0; turn < TURNS && !isDone; turn++) await new Promise((next) => onNextTurn(next));
    if (isDone) break;
    await vi.advanceTimersToNextTimerAsync();
  }
  return call;
}

export const failNetwork = () =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) });

/** Sets up fake timers, the maximum jitter, and a silent console for each test in a file. */
export function useScriptedTime(): void {
  beforeEach(() => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
    vi.spyOn(Math, 'random').mockReturnValue(1);
    vi.spyOn(console, 'warn').mockReturnValue();
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}
