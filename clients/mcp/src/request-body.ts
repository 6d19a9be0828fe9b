import type { IncomingMessage } from 'node:http';
import { exceededJsonLimit, MAX_JSON_DEPTH, MAX_JSON_VALUES } from '../../../src/core/http/json-limits.ts';
import type { Slot } from '../../../src/core/lib/concurrency-limiter.ts';
import { batchProblem, INVALID_REQUEST } from '../../../src/features/mcp/exchange.ts';
import { HttpError } from './http-error.ts';

/** Maximum size of bodies that are read before the caller is checked. Headers may cost as much. */
const SMALL_BODY_BYTES = 16 * 1024;

interface Limits {
  maxBytes: number;
  /** Slot for the bytes of a body that is not small. */
  bytes: Slot;
  /** Called before reading a body that is not small. Throws if the service does not accept the key. */
  checkKey: () => Promise<void>;
}

/** Reads a request's body as JSON within limits. @throws HttpError */
export async function readBody(request: IncomingMessage, limits: Limits): Promise<unknown> {
  const text = await readText(request, limits);
  // Checked before parsing, because a body with too many values would block the event loop for seconds.
  switch (exceededJsonLimit(text)) {
    case 'levels':
      throw new HttpError(400, `The body nests arrays and objects deeper than ${MAX_JSON_DEPTH} levels.`);
    case 'values':
      throw new HttpError(400, `The body holds more than ${MAX_JSON_VALUES} fields and array items.`);
  }
  const body = parseJson(text);
  const problem = batchProblem(body);
  if (problem !== undefined) throw new HttpError(400, problem, INVALID_REQUEST);
  return body;
}

async function readText(request: IncomingMessage, { maxBytes, bytes, checkKey }: Limits): Promise<string> {
  const tooLarge = new HttpError(413, `The body is larger than ${maxBytes} bytes, the limit of this server.`);
  // A chunked body does not declare its length.
  const length = Number(request.headers['content-length'] ?? maxBytes);
  if (length > maxBytes) throw tooLarge;
  if (length > SMALL_BODY_BYTES) {
    await checkKey();
    await bytes.acquire(length);
  }
  const chunks: Buffer[] = [];
  let received = 0;
  // The iterator must not destroy the connection, because the error response still needs it.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    received += chunk.length;
    if (received > maxBytes) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new HttpError(400, 'Parse error: Invalid JSON', -32700);
  }
}
