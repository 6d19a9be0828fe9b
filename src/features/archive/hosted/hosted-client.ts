import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { parseRetryAfter } from '../../../core/lib/retry-after.ts';
import { parseMicroseconds } from '../../../core/lib/rfc3339.ts';
import { escapeInvisible } from '../entry.ts';

/*
 * Schemas for responses from the Memory Stores API. Only fields that the import and the push read are listed; others
 * are ignored.
 */

/** A time that this service can store. */
const time = z.string().refine((text) => parseMicroseconds(text) !== undefined, 'is not a valid time');

export const storeSchema = z.object({
  id: z.string(),
  name: z.string().nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish().catch(null),
  created_at: time,
});
export type HostedStoreRecord = z.output<typeof storeSchema>;

export const memorySchema = z.object({
  id: z.string(),
  memory_version_id: z.string(),
  path: z.string(),
  content: z.string().nullish(),
  content_sha256: z.string(),
  created_at: time,
  updated_at: time,
});
export type HostedMemory = z.output<typeof memorySchema>;

/** A memory in a list with contents. A memory without a text is not imported as an empty file. */
export const fullMemorySchema = memorySchema.extend({ content: z.string() });

/** Actors with an unknown type are read as anonymous. */
const actorSchema = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('api_actor'), api_key_id: z.string() }),
    z.object({ type: z.literal('service_account_actor'), service_account_id: z.string() }),
    z.object({ type: z.literal('user_actor'), user_id: z.string() }),
    z.object({ type: z.literal('session_actor'), session_id: z.string() }),
  ])
  .nullish()
  .catch(null);
export type HostedActor = z.output<typeof actorSchema>;

const OPERATIONS = ['created', 'modified', 'deleted'] as const;

/** Operations with an unknown name are read as changes. They must have a content, because they may be deletions. */
export const versionSchema = z
  .object({
    id: z.string(),
    memory_id: z.string(),
    operation: z.string(),
    path: z.string().nullish(),
    content: z.string().nullish(),
    content_sha256: z.string().nullish(),
    created_at: time,
    created_by: actorSchema,
    redacted_at: time.nullish(),
    redacted_by: actorSchema,
  })
  .transform(({ operation: given, ...version }, { addIssue }) => {
    const operation = OPERATIONS.find((each) => each === given);
    if (operation === undefined && version.content == null && version.redacted_at == null) {
      addIssue({ code: 'custom', path: ['operation'], message: 'is unknown, and there is no content' });
    }
    return { operation: operation ?? ('modified' as const), ...version };
  });
export type HostedVersion = z.output<typeof versionSchema>;

export const pageSchema = z.object({ data: z.array(z.unknown()), next_page: z.string().nullish() });

/** Describes a response's first invalid field, without the field's value. */
export function fieldProblem({ issues: [issue] }: z.ZodError): string {
  const what = issue?.message.replace(/^Invalid input: /, '') ?? '';
  return issue === undefined || issue.path.length === 0 ? what : `${issue.path.join('.')}: ${what}`;
}

export const errorSchema = z.object({
  error: z.object({ message: z.string(), conflicting_memory_id: z.string().optional() }),
});

/**
 * Attempts for a request that may succeed later: `FIRST_ATTEMPTS` until the service responds once, `ATTEMPTS` after
 * that.
 */
const ATTEMPTS = 8;
const FIRST_ATTEMPTS = 4;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 60_000;
const REQUEST_TIMEOUT_MS = 120_000;

/** Error from reading or writing a hosted store. The message is for the operator. */
export class HostedStoreError extends Error {
  override name = 'HostedStoreError';
  /** Response status, if a response caused the error. */
  readonly status: number | undefined;
  readonly body: unknown;

  constructor(message: string, status?: number, body?: unknown) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

export interface HostedRequest {
  method: 'GET' | 'POST';
  /** Path and query, relative to the base URL. */
  path: string;
  body?: object;
  /** Whether to repeat the request if its outcome is unknown. */
  isRepeatable?: boolean;
}

interface Attempt {
  status: number | undefined;
  body: unknown;
  headers?: Headers;
}

/** Client for a service with the Memory Stores API, such as Anthropic's. Repeats requests that may succeed later. */
export class HostedClient {
  readonly url: string;
  readonly #key: string;
  readonly #onPause: (milliseconds: number, why: string) => void;
  #wasReached = false;

  /** @param onPause called before a request is repeated */
  constructor(url: string, key: string, onPause: (milliseconds: number, why: string) => void = () => {}) {
    this.url = url.replace(/\/+$/, '');
    this.#key = key;
    this.#onPause = onPause;
  }

  /** @throws HostedStoreError if the request was rejected, or all attempts failed */
  async send<T>(schema: z.ZodType<T>, request: HostedRequest): Promise<T> {
    const { path, isRepeatable = true } = request;
    for (let attempt = 1; ; attempt++) {
      const response = await this.#attempt(request);
      const { status, body } = response;
      if (status !== undefined && status >= 200 && status < 300) {
        const read = schema.safeParse(body);
        if (read.success) return read.data;
        throw new HostedStoreError(
          `${this.url} responds to ${resourceName(path)}, but not like a memory store (${fieldProblem(read.error)}).`,
          status,
        );
      }
      // Only status 429 guarantees that the request had no effect.
      const mayRepeat = isRepeatable ? isTemporary(response) : status === 429;
      const isLast = attempt === (this.#wasReached ? ATTEMPTS : FIRST_ATTEMPTS);
      if (!mayRepeat || isLast) throw this.#failure(path, response);
      const pause = retryDelay(attempt, response.headers);
      this.#onPause(pause, status === undefined ? 'no response' : `status ${status}`);
      await sleep(pause);
    }
  }

  /**
   * Sends a request and reads the whole response. Reading is part of the attempt, because the connection may break
   * during the response.
   */
  async #attempt({ method, path, body }: HostedRequest): Promise<Attempt> {
    const headers = {
      'x-api-key': this.#key,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'agent-memory-2026-07-22',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    try {
      const response = await fetch(this.url + path, {
        method,
        headers,
        body: body === undefined ? null : JSON.stringify(body),
        // Rejects redirects, because following a redirect would send the key to another server.
        redirect: 'manual',
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      this.#wasReached = true;
      return { status: response.status, body: parseJson(await response.text()), headers: response.headers };
    } catch {
      return { status: undefined, body: undefined };
    }
  }

  #failure(path: string, { status, body }: Attempt): HostedStoreError {
    if (status === undefined) return new HostedStoreError(`Cannot reach ${this.url}.`);
    return new HostedStoreError(
      `${this.url} rejected a request (${resourceName(path)}): ${status}, ${failureReason(body)}`,
      status,
      body,
    );
  }
}

/** Returns the reason for a rejection from the response body. */
export function failureReason(body: unknown): string {
  const problem = errorSchema.safeParse(body);
  return problem.success ? escapeInvisible(problem.data.error.message) : 'no reason given';
}

/** Returns a request's path without the query, because the query may contain memory paths. */
function resourceName(path: string): string {
  return path.replace(/\?.*/s, '');
}

function isTemporary({ status, headers }: Attempt): boolean {
  const advice = headers?.get('x-should-retry');
  if (advice === 'true' || advice === 'false') return advice === 'true';
  return status === undefined || status === 408 || status === 429 || status >= 500;
}

/** Computes the pause before the next attempt. */
function retryDelay(attempt: number, headers: Headers | undefined): number {
  const pause = parseRetryAfter(headers?.get('retry-after')) ?? FIRST_PAUSE_MS * 2 ** (attempt - 1);
  return Math.min(pause, LONGEST_PAUSE_MS);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
