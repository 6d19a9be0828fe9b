import { withLocalTimes } from '../text/format.ts';
import { noteHistoryLoss } from './change-signals.ts';
import { withRetries } from './retry.ts';
import { endSession, session, storedKey } from './session-state.ts';

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;

  constructor(status: number, problem: Problem) {
    super(problem.detail ?? problem.title ?? `The service responded with status ${status}.`);
    this.status = status;
    this.code = problem.code ?? 'unknown';
    this.requestId = problem.request_id ?? null;
  }
}

export interface Problem {
  title?: string;
  detail?: string;
  code?: string;
  request_id?: string;
}

type QueryValue = string | number | boolean | null | undefined;
/** URL parameters. A list repeats its parameter. */
export type Query = Record<string, QueryValue | readonly string[]>;

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  query?: Query;
  headers?: Record<string, string>;
  /** Request body, sent as JSON. */
  json?: unknown;
  body?: string;
  signal?: AbortSignal | undefined;
}

/** A request that changes something. */
export interface ApiRequest extends Pick<RequestOptions, 'query' | 'headers' | 'json' | 'body'> {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path below `v1/`. */
  path: string;
}

const requestCreator =
  (method: ApiRequest['method']) =>
  (path: string, json?: unknown): ApiRequest => ({ method, path, json });
export const post = requestCreator('POST');
export const patch = requestCreator('PATCH');
export const remove = requestCreator('DELETE');

/** Returns a URL relative to the page, because a proxy may serve the console below a prefix. */
export function toUrl(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of typeof value === 'object' && value !== null ? value : [value])
      if (each !== null && each !== undefined && each !== '') parameters.append(name, String(each));
  }
  return parameters.size === 0 ? `v1/${path}` : `v1/${path}?${parameters}`;
}

/** Returns the session's credential: an admin key, or the header that a session in a cookie needs. */
export function authorizationHeaders(): Record<string, string> {
  const key = storedKey();
  return key === null ? { 'x-memory-console': '1' } : { authorization: `Bearer ${key}` };
}

/**
 * Sends a request with the session's admin key. A `GET` is retried while the service is busy.
 *
 * @throws ApiError when the response is an error. An error for an invalid key also ends the session.
 * @throws TypeError when there is no response
 */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = 'GET', query, headers, json, body, signal } = options;
  const sendOnce = () =>
    fetch(toUrl(path, query), {
      method,
      headers: {
        ...authorizationHeaders(),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: json === undefined ? (body ?? null) : JSON.stringify(json),
      signal: signal ?? null,
      cache: 'no-store',
      credentials: 'same-origin',
    });
  const response = method === 'GET' ? await withRetries(sendOnce, signal) : await sendOnce();
  if (response.ok) return response;
  throw noteError(new ApiError(response.status, await readProblem(response)));
}

export async function sendJson<T>(path: string, options: RequestOptions = {}): Promise<T> {
  return (await send(path, options)).json();
}

/** Sends a request that changes something. A dialog also offers the request as a command. */
export const sendRequest = <T>({ path, ...options }: ApiRequest) => sendJson<T>(path, options);

/** Sends a request whose response has no body. */
export const sendEmpty = ({ path, ...options }: ApiRequest) => send(path, options);

/** Ends the session if its key became invalid. Reloads the start of the history if the requested part was pruned. */
export function noteError(error: ApiError): ApiError {
  if (error.code === 'history_incomplete') noteHistoryLoss();
  const rejected = error.status === 401 || error.code === 'not_an_admin_key';
  if (rejected && session.value !== null) {
    endSession(
      storedKey() === null
        ? 'Your session has ended. Sign in again.'
        : 'Your key is no longer accepted: it has expired or was revoked. Sign in with another one.',
    );
  }
  return error;
}

export async function readProblem(response: Response): Promise<Problem> {
  try {
    return await response.json();
  } catch {
    // The body is not JSON: it comes from a proxy in front of the service.
    return {};
  }
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

const isTimeout = (error: unknown) => error instanceof DOMException && error.name === 'TimeoutError';

/** Returns the message to show for an error. */
export function errorMessage(error: unknown): string {
  // Errors about parameters contain valid times as examples, which must stay in UTC.
  if (error instanceof ApiError && error.code === 'invalid_parameter') return error.message;
  if (error instanceof ApiError) return withLocalTimes(error.message);
  if (error instanceof TypeError || isTimeout(error))
    return 'The service cannot be reached. Check the connection and try again.';
  return error instanceof Error ? error.message : String(error);
}
