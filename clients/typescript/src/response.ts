import { parseRetryAfter } from './backoff.ts';
import type { Fault } from './errors.ts';
import type { MemoryResult } from './types.ts';

/** Reads the JSON of a response. Returns undefined if the response does not come from the service. */
export type Read<Result> = (body: Record<string, unknown>) => Result | undefined;

/** A request whose response is read. */
interface Request {
  service: string;
  url: URL;
  headers: Headers;
  requestId: string;
}

// A gateway reports network errors to the service as 502 and 504.
const RETRYABLE = new Set([429, 502, 503, 504]);

const SUCCESSES = new Set([200, 201, 204]);

/** Rejections of one call. Other errors concern the key, the service, or the network. */
const REJECTED = new Set([400, 403, 404, 409, 413]);

/** Reads the result of the `tool_use` block with this ID, or of an input. The result of another block is rejected. */
export const readResult =
  (toolUseId: string | undefined): Read<MemoryResult> =>
  ({ tool_use_id: id = toolUseId, content, is_error }) =>
    id === toolUseId && typeof content === 'string' && typeof is_error === 'boolean'
      ? { content, is_error }
      : undefined;

export const readInstructions: Read<string> = ({ content }) =>
  typeof content === 'string' ? content : undefined;

/** Reads a response as a result of the service, or as a fault. */
export function readResponse<Result>(
  { status, headers }: Response,
  text: string,
  request: Request,
  read: Read<Result>,
  readRejection?: Read<Result>,
): { result: Result } | { fault: Fault } {
  const fault = {
    status,
    requestId: headers.get('X-Request-Id') ?? request.requestId,
    retryable: RETRYABLE.has(status),
    retryAfterMs: parseRetryAfter(headers.get('Retry-After')),
  };
  if (SUCCESSES.has(status)) {
    const result = read(parseJson(text));
    if (result !== undefined) return { result };
    return { fault: { ...fault, code: 'invalid_response', message: foreignResponse(status, request) } };
  }
  const rejected = REJECTED.has(status) ? readRejection?.(parseJson(text)) : undefined;
  if (rejected !== undefined) return { result: rejected };
  const problem = toFault(readProblem(headers.get('Content-Type') ?? '', text), fault, request);
  if (problem !== undefined) return { fault: problem };
  return { fault: { ...fault, code: `http_${status}`, message: foreignResponse(status, request) } };
}

/** Converts a problem's JSON to a fault. Returns undefined if the problem does not come from the service. */
function toFault(
  { code, detail }: Record<string, unknown>,
  fault: Omit<Fault, 'code' | 'message'>,
  request: Request,
): Fault | undefined {
  if (typeof code !== 'string' || typeof detail !== 'string') return undefined;
  const message = `${request.service} responded with ${fault.status} ${code}: ${adviceOn(code, detail, request) ?? detail}`;
  return { ...fault, code, message };
}

/** Reads the problem with which the service ended an event stream. */
export function readStreamProblem(text: string, request: Request): Fault | undefined {
  const { status, ...problem } = parseJson(text);
  if (typeof status !== 'number') return undefined;
  const { requestId } = request;
  return toFault(problem, { status, requestId, retryable: RETRYABLE.has(status) }, request);
}

/** Reads the error of a response: problem details, or an error of the Memory Stores API. */
function readProblem(type: string, text: string): Record<string, unknown> {
  if (type.startsWith('application/problem+json')) return parseJson(text);
  const error = readStoreError(parseJson(text));
  return error === undefined ? {} : { code: error.type, detail: error.message };
}

/** An error of the Memory Stores API. */
export interface StoreError {
  type: string;
  message: string;
  conflicting_path?: string;
  conflicting_memory_id?: string;
}

export const readRejection: Read<{ error: StoreError }> = (body) => {
  const error = readStoreError(body);
  return error && { error };
};

function readStoreError({ type, error }: Record<string, unknown>): StoreError | undefined {
  const isError = type === 'error' && isObject(error) && typeof error.type === 'string';
  return isError && typeof error.message === 'string' ? (error as unknown as StoreError) : undefined;
}

/** Returns advice on the options of a client. The service itself names the headers of the options. */
function adviceOn(code: string, detail: string, { url, headers }: Request): string | undefined {
  const namesTenant = headers.has('X-Tenant-Id');
  switch (code) {
    case 'unauthorized':
    case 'authentication_error':
      return headers.has('Authorization')
        ? '`apiKey` is not a valid key or token of this service.'
        : 'The service needs a key. Set `apiKey`.';
    case 'tenant_required':
      return 'The key is valid for many tenants. Set `tenant`.';
    case 'invalid_tenant':
      return '`tenant` must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -.';
    case 'tenant_mismatch':
      return 'The key is not valid for this `tenant`. Omit `tenant`, or use a key of that tenant.';
    case 'is_admin_key':
      return '`apiKey` is an admin key, which is for the admin API only. Use a tenant key or a service key.';
    case 'unknown_tenant':
      return namesTenant ? `${detail} Check \`tenant\`.` : undefined;
    case 'tenant_suspended':
      return namesTenant ? `${detail} Check \`tenant\`, or have an operator resume it.` : undefined;
    case 'route_not_found': {
      const route = /\/(changes|context)$/.exec(url.pathname)?.[1];
      return route === undefined
        ? `${withoutQuery(url)} does not exist. Check \`url\`.`
        : `The service has no ${route}. Update it, or check \`url\`.`;
    }
    default:
      return undefined;
  }
}

/**
 * Describes a response that does not come from the service, such as the response of a proxy. Its body may repeat the
 * request, so it is never shown.
 */
function foreignResponse(status: number, request: Request): string {
  const url = withoutQuery(request.url);
  // A browser reports a redirect that it did not follow as status 0.
  return status === 0 || (status >= 300 && status < 400)
    ? `${url} redirects. Set \`url\` to where it redirects to.`
    : `${url} responded with ${status}, but not like a memory service. Check \`url\`, and any proxy in front of the service.`;
}

/** Returns a URL without its query, which may contain paths of the memory. */
function withoutQuery({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

export function parseJson(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
