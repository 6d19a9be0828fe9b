/** The client's changes: the stream, breaks in it, and the end. */
import { describe, expect, it, vi } from 'vitest';
import { type ChangesOptions, MemoryServiceError } from '../src/index.ts';
import {
  busyResponse,
  createScriptedClient,
  failNetwork,
  okResponse,
  problemResponse,
  type Step,
  skipDelays,
  useScriptedTime,
} from './scripted-fetch.ts';

useScriptedTime();

const ENCODER = new TextEncoder();
const RETRY = 'retry: 1000\n\n';
const event = (cursor: string) =>
  `id: ${cursor}\ndata: ${JSON.stringify({ cursor, type: 'created', version: { path: '/memories/ä' } })}\n\n`;
const problem = (status: number, code: string) =>
  `event: problem\ndata: ${JSON.stringify({ status, code, detail: 'Detail.' })}\n\n`;

/** Responds with a stream that closes, is reset, or sends nothing more until the request is aborted. */
const stream =
  (text: string | Uint8Array[], end: 'closed' | 'reset' | 'silent' = 'closed') =>
  (signal: AbortSignal) => {
    const parts = typeof text === 'string' ? [ENCODER.encode(text)] : [...text];
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
      pull: (controller) => {
        const part = parts.shift();
        if (part !== undefined) controller.enqueue(part);
        else if (end === 'closed') controller.close();
        else if (end === 'reset') controller.error(new TypeError('terminated'));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };

/** Iterates over the changes up to `count`, and returns their cursors, the requests, and the error. */
async function follow(steps: Step[], count: number, options: ChangesOptions = {}) {
  const warnings: string[] = [];
  const logger = { warn: (message: string) => warnings.push(message), debug: () => {} };
  const { client, sent } = createScriptedClient(steps, { logger });
  const cursors: string[] = [];
  const iterate = async () => {
    for await (const { cursor } of client.changes(options)) {
      cursors.push(cursor);
      if (cursors.length === count) return;
    }
  };
  const error = await skipDelays(
    iterate().then(
      () => undefined,
      (error: unknown) => error,
    ),
  );
  const requests = sent.map(({ url, at }) => `${at} ${url.replace('http://memory.test:8080', '')}`);
  return { cursors, requests, error, sent, warnings };
}

describe('client changes', () => {
  it('continues after the last event when a stream is closed or reset, or sends nothing for 45 seconds', async () => {
    const { cursors, requests, sent } = await follow(
      [
        stream(RETRY + event('1') + event('2')),
        stream(`${RETRY + event('3')}id: 4\ndata: {"cursor"`, 'reset'),
        stream(`${RETRY}: \n\n`, 'silent'),
        stream(RETRY + event('4')),
      ],
      4,
    );
    expect(cursors).toStrictEqual(['1', '2', '3', '4']);
    expect(requests).toStrictEqual([
      '0 /v1/changes',
      '1200 /v1/changes?after=2',
      '2400 /v1/changes?after=3',
      '48600 /v1/changes?after=3',
    ]);
    expect(sent[0]?.headers).toMatchObject({ accept: 'text/event-stream' });
    expect(sent[0]?.headers).not.toHaveProperty('content-type');
  });

  it('reads events that arrive byte by byte, with CRLF, comments, and a position without an event', async () => {
    const text = `: comment\r\n\r\n${event('1').replaceAll('\n', '\r\n')}id: 2\ndata:\n\n`;
    const bytes = [...ENCODER.encode(text)].map((byte) => Uint8Array.of(byte));
    const { cursors, requests } = await follow([stream(bytes), stream(event('3'))], 2);
    expect(cursors).toStrictEqual(['1', '3']);
    expect(requests).toStrictEqual(['0 /v1/changes', '2200 /v1/changes?after=2']);
  });

  it('sends the filter with each request', async () => {
    const options: ChangesOptions = { after: '1', path: '/memories/a', types: ['created', 'deleted'] };
    const { requests } = await follow([stream(RETRY), stream(event('1'))], 1, {
      ...options,
      by: 'laptop',
      content: true,
    });
    const filter = 'path=%2Fmemories%2Fa&by=laptop&content=true&type=created&type=deleted';
    expect(requests).toStrictEqual([`0 /v1/changes?after=1&${filter}`, `1200 /v1/changes?after=1&${filter}`]);
  });

  it('waits with backoff and for Retry-After while the service is unavailable, and warns once', async () => {
    const { cursors, requests, warnings } = await follow(
      [
        ...Array.from({ length: 9 }, failNetwork),
        problemResponse(429, 'rate_limited', 'Too many.', { 'retry-after': '7' }),
        problemResponse(500, 'internal_error', 'A fault.'),
        stream(event('1')),
      ],
      1,
    );
    expect(cursors).toStrictEqual(['1']);
    expect(requests.map((each) => Number.parseInt(each, 10))).toStrictEqual([
      0, 200, 600, 1400, 3000, 6200, 11_200, 16_200, 21_200, 26_200, 38_200, 43_200,
    ]);
    expect(warnings).toStrictEqual([expect.stringContaining('cannot be reached: ECONNREFUSED.')]);
  });

  it('opens another stream after a problem that ends one temporarily', async () => {
    const { cursors } = await follow(
      [
        stream(event('1') + problem(503, 'shutting_down')),
        stream(event('2') + problem(409, 'access_changed')),
        stream(event('3')),
      ],
      3,
    );
    expect(cursors).toStrictEqual(['1', '2', '3']);
  });

  it.each([
    [
      'a response',
      problemResponse(403, 'tenant_mismatch', 'Detail.'),
      403,
      'tenant_mismatch',
      'The key is not valid for this `tenant`.',
    ],
    [
      'a problem that ends the stream',
      stream(RETRY + problem(401, 'unauthorized')),
      401,
      'unauthorized',
      'The service needs a key. Set `apiKey`.',
    ],
    ['an expired position', stream(problem(410, 'changes_expired')), 410, 'changes_expired', 'Detail.'],
    [
      'a service without the feed',
      problemResponse(404, 'route_not_found', 'Detail.'),
      404,
      'route_not_found',
      'The service has no changes.',
    ],
    ['a page of a proxy', new Response('<html>'), 200, 'invalid_response', 'but not like a memory service'],
  ])('throws a MemoryServiceError after %s', async (_, step, status, code, message) => {
    const { cursors, error } = await follow([stream(event('1')), step], 2);
    expect(cursors).toStrictEqual(['1']);
    expect(error).toBeInstanceOf(MemoryServiceError);
    expect(error).toMatchObject({ status, code, message: expect.stringContaining(message) });
  });

  it('takes a new position before resync, and continues from it', async () => {
    const resync = vi.fn(async () => {});
    const { cursors, requests } = await follow(
      [
        problemResponse(410, 'changes_expired', 'Detail.'),
        busyResponse(),
        okResponse({ events: [], cursor: '7', has_more: false }),
        stream(event('8')),
      ],
      1,
      { after: '1', resync },
    );
    expect(cursors).toStrictEqual(['8']);
    expect(resync.mock.calls).toStrictEqual([['7']]);
    expect(requests).toStrictEqual([
      '0 /v1/changes?after=1',
      '0 /v1/changes?after=now&limit=1',
      '200 /v1/changes?after=now&limit=1',
      '200 /v1/changes?after=7',
    ]);
  });

  it('continues from one position after `now` when the first stream breaks', async () => {
    const { requests } = await follow(
      [okResponse({ events: [], cursor: '7', has_more: false }), failNetwork(), stream(event('8'))],
      1,
      { after: 'now' },
    );
    expect(requests).toStrictEqual([
      '0 /v1/changes?after=now&limit=1',
      '0 /v1/changes?after=7',
      '200 /v1/changes?after=7',
    ]);
  });

  it('ends without an error when the signal aborts, and cancels the request', async () => {
    const controller = new AbortController();
    let cancelled: AbortSignal | undefined;
    const { client } = createScriptedClient([
      (signal) => {
        cancelled = signal;
        return stream(event('1'), 'silent')(signal);
      },
    ]);
    const cursors: string[] = [];
    for await (const { cursor } of client.changes({ signal: controller.signal })) {
      cursors.push(cursor);
      controller.abort();
    }
    expect(cursors).toStrictEqual(['1']);
    expect(cancelled?.aborted).toBe(true);
  });

  it('cancels the request when the caller leaves the loop', async () => {
    let cancelled: AbortSignal | undefined;
    const { client } = createScriptedClient([
      (signal) => {
        cancelled = signal;
        return stream(event('1'), 'silent')(signal);
      },
    ]);
    for await (const _ of client.changes()) break;
    expect(cancelled?.aborted).toBe(true);
  });

  it('lists one page', async () => {
    const page = { events: [], cursor: '7', has_more: false };
    const { client, sent } = createScriptedClient([okResponse(page)]);
    expect(await client.listChanges({ after: 'now', limit: 1 })).toStrictEqual(page);
    expect(sent[0]?.url).toBe('http://memory.test:8080/v1/changes?after=now&limit=1');
  });
});
