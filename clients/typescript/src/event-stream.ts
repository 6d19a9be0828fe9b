import { LimitedRequest, type RequestOptions } from './attempt.ts';
import type { Fault } from './errors.ts';
import { readResponse, readStreamProblem } from './response.ts';

/** Maximum time without a byte. The service sends a comment at least every 15 seconds. */
const SILENCE_MS = 45_000;
/** Delay before a stream is opened again, unless it has a `retry` field. */
const RETRY_MS = 2000;

/** A server-sent event. */
export interface ServerEvent {
  /** Event type: `message` by default. */
  type: string;
  /** Empty if only the position moved. */
  data: string;
  /** Position after the event: the last ID in the stream. */
  id: string | undefined;
}

/**
 * Sends a request, and yields the events in its response. Never throws.
 *
 * @returns why the stream ended, or why there is none
 */
export async function* receiveEvents(options: RequestOptions): AsyncGenerator<ServerEvent, Fault> {
  const request = new LimitedRequest(options);
  const parser = new EventParser();
  let isOpen = false;
  const withRetry = (fault: Fault): Fault => (isOpen ? { ...fault, retryAfterMs: parser.retryMs } : fault);
  try {
    const response = await request.send();
    const { body, headers } = response;
    if (body === null || !headers.get('Content-Type')?.startsWith('text/event-stream')) {
      const outcome = readResponse(response, await response.text(), request, () => undefined);
      return (outcome as { fault: Fault }).fault;
    }
    isOpen = true;
    const reader = body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      request.setTimeLimit(SILENCE_MS);
      const { done, value } = await reader.read();
      // The time in which the caller handles an event is no silence.
      request.clearTimeLimit();
      if (done) return withRetry({ ...ENDED, requestId: request.requestId });
      for (const event of parser.parse(decoder.decode(value, { stream: true }))) {
        const problem = event.type === 'problem' ? readStreamProblem(event.data, request) : undefined;
        if (problem !== undefined) return withRetry(problem);
        yield event;
      }
    }
  } catch (cause) {
    return withRetry(request.toFault(cause));
  } finally {
    request.cancel();
  }
}

const ENDED: Fault = {
  code: 'network_error',
  message: 'The memory service ended the stream.',
  retryable: true,
};

/** Parses server-sent events, whose lines end with LF or CRLF. */
class EventParser {
  retryMs = RETRY_MS;
  #pieces: string[] = [];
  #type = '';
  #data: string[] = [];
  #id: string | undefined;

  /** Yields the events that end in a part of the stream. */
  *parse(text: string): Generator<ServerEvent> {
    const [first = '', ...others] = text.split('\n');
    this.#pieces.push(first);
    for (const piece of others) {
      const event = this.#readLine(this.#pieces.join('').replace(/\r$/, ''));
      if (event !== undefined) yield event;
      this.#pieces = [piece];
    }
  }

  #readLine(line: string): ServerEvent | undefined {
    if (line === '') return this.#endEvent();
    const colon = line.includes(':') ? line.indexOf(':') : line.length;
    const value = line.slice(colon + 1).replace(/^ /, '');
    switch (line.slice(0, colon)) {
      case 'data':
        this.#data.push(value);
        break;
      case 'event':
        this.#type = value;
        break;
      case 'id':
        this.#id = value;
        break;
      case 'retry':
        if (/^\d{1,6}$/.test(value)) this.retryMs = Number(value);
    }
    return undefined;
  }

  #endEvent(): ServerEvent {
    const event = { type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id };
    this.#type = '';
    this.#data = [];
    return event;
  }
}
