import { parseRetryAfter } from './backoff.ts';
import type { Fault } from './errors.ts';
import type { MemoryResult } from './types.ts';

/** What is known of a request when its answer is read. */
interface Request {
  url: URL;
  headers: Headers;
  requestId: string;
  /** Of a tool, whose result says whether it is an error. */
  isCall: boolean;
}

// 502 and 504 are how a gateway reports what is a network error without it.
const RETRYABLE = new Set([429, 502, 503, 504]);

/** Reads an answer as a result of the service, or as a fault. */
export function readAnswer(
  { status, headers }: Response,
  text: string,
  request: Request,
): { result: MemoryResult } | { fault: Fault } {
  const fault = {
    status,
    requestId: headers.get('X-Request-Id') ?? request.requestId,
    retryable: RETRYABLE.has(status),
    retryAfterMs: parseRetryAfter(headers.get('Retry-After')),
  };
  if (status === 200) {
    const { content, is_error = request.isCall ? undefined : false } = parseJson(text);
    if (typeof content === 'string' && typeof is_error === 'boolean') {
      return { result: { content, is_error } };
    }
    return { fault: { ...fault, code: 'invalid_answer', message: foreignAnswer(status, request) } };
  }
  const isProblem = headers.get('Content-Type')?.startsWith('application/problem+json');
  const { code, detail } = isProblem ? parseJson(text) : {};
  if (typeof code !== 'string' || typeof detail !== 'string') {
    return { fault: { ...fault, code: `http_${status}`, message: foreignAnswer(status, request) } };
  }
  const message = `The memory service answered ${status} ${code}: ${adviceOn(code, request) ?? detail}`;
  return { fault: { ...fault, code, message } };
}

/** What to change in the options. The service itself names the headers that they are sent as. */
function adviceOn(code: string, { url, headers }: Request): string | undefined {
  switch (code) {
    case 'unauthorized':
      return headers.has('Authorization')
        ? '`apiKey` is not a valid key or token of this service.'
        : 'The service needs a key. Set `apiKey`.';
    case 'tenant_required':
      return 'The key is for many tenants. Set `tenant`.';
    case 'invalid_tenant':
      return '`tenant` has to be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -.';
    case 'tenant_mismatch':
      return 'The key is not for this `tenant`. Leave `tenant` out, or use a key of that tenant.';
    case 'route_not_found':
      return `There is no ${url}. Check \`url\`.`;
    default:
      return undefined;
  }
}

/** For the answer of something in front of the service or in its place. Its body may show what it was sent, so it is never shown. */
function foreignAnswer(status: number, { url }: Request): string {
  // A browser shows a redirect that it did not follow as status 0.
  return status === 0 || (status >= 300 && status < 400)
    ? `${url} redirects. Set \`url\` to where it redirects to.`
    : `${url} answered ${status}, but not as a memory service does. Check \`url\`, and what is in front of the service.`;
}

function parseJson(text: string): Record<string, unknown> {
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
