import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServiceError } from '../errors/errors.ts';
import { EVENT_STREAM, type SendEvents, type ServerSentEvent } from '../lib/server-sent-events.ts';
import { noteFault, problemFor, toProblem } from './problem-details.ts';

/** Interval between comments on an idle stream, below the idle timeout in common proxies. */
const HEARTBEAT_MS = 15_000;
/** Bytes that wait for the client before `send` waits too. */
const BUFFER_BYTES = 16 * 1024;
/** Delays before clients connect again. They are random, so that the clients of a stopped replica spread their load. */
const RETRY_MS = { min: 1000, max: 5000 };

/**
 * Sends server-sent events until `work` ends or fails, the client disconnects, the service stops, or the caller's
 * credential is no longer valid. After an error, the last event is a `problem` whose data is the problem's JSON.
 *
 * The stream holds no slot while it is open. A client that receives nothing for `TRANSFER_TIMEOUT_MS` although events
 * wait is disconnected (slow-clients.ts).
 *
 * @param work must end when the signal aborts, because the service waits for the work when it stops
 * @throws ServiceError 429 or 503 if too many streams are open
 */
export async function streamEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  work: SendEvents,
  { heartbeatMs = HEARTBEAT_MS } = {},
): Promise<FastifyReply> {
  const { streams } = request.server;
  const signal = streams.open(request, reply);
  const output = new PassThrough({ highWaterMark: BUFFER_BYTES });
  const heartbeat = setInterval(() => {
    if (!output.writableNeedDrain) output.write(':\n\n');
  }, heartbeatMs).unref();
  const end = (error?: ServiceError) => {
    if (output.writableEnded) return;
    clearInterval(heartbeat);
    if (error !== undefined) request.logEntry.outcome = error.code;
    const isBehind = output.writableNeedDrain || reply.raw.writableNeedDrain;
    output.end(error && formatProblem(error, request));
    // A client that is behind could delay the end.
    if (isBehind && signal.aborted) reply.raw.destroy();
  };
  const send = async (event: ServerSentEvent) => {
    signal.throwIfAborted();
    heartbeat.refresh();
    if (output.write(formatEvent(event))) return;
    await once(output, 'drain', { signal }).catch(() => signal.throwIfAborted());
  };
  const run = async () => {
    try {
      await work({ signal, send });
      end();
    } catch (error) {
      if (signal.aborted) return;
      const problem = problemFor(error);
      noteFault(problem, request);
      end(problem);
    }
  };
  if (signal.aborted) end(signal.reason);
  else signal.addEventListener('abort', () => end(signal.reason));
  request.logEntry.outcome = 'ok';
  output.write(formatRetry());
  streams.track(run());
  // A connection that stays open after the stream would delay the service's shutdown.
  reply.headers({ 'X-Accel-Buffering': 'no', Connection: 'close' });
  return reply.type(EVENT_STREAM).send(output);
}

function formatEvent({ id, event, data }: ServerSentEvent): string {
  const text = typeof data === 'object' ? JSON.stringify(data) : data;
  const lines = [
    ...(id === undefined ? [] : [`id: ${id}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    ...(text === undefined ? [] : text.split(/\r\n|\r|\n/).map((line) => `data: ${line}`)),
  ];
  return `${lines.join('\n')}\n\n`;
}

function formatProblem(error: ServiceError, request: FastifyRequest): string {
  return formatRetry() + formatEvent({ event: 'problem', data: toProblem(error, request.id) });
}

function formatRetry(): string {
  return `retry: ${Math.round(RETRY_MS.min + Math.random() * (RETRY_MS.max - RETRY_MS.min))}\n\n`;
}
