import {
  type AdminOperation,
  type AnyAdminOperation,
  ERROR_HEADER,
  OPERATOR_HEADER,
  type OperationProgress,
} from '../admin/admin-operation.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database/database.ts';
import { capitalize } from '../database/open-database.ts';
import { OperatorError, ServiceError } from '../errors/errors.ts';
import { isObject } from '../lib/json.ts';
import { JSON_LINES } from '../lib/operation.ts';
import { currentOperator } from './cli-session.ts';
import { apiName, lostConnection, request } from './http-client.ts';
import type { Io } from './io.ts';
import type { AdminTarget } from './profiles.ts';

/** Parts of an operation's input. The schemas add defaults. */
export interface CallInput<Params, Query, Body, Headers = unknown> {
  params?: Params;
  query?: Partial<Query>;
  body?: Partial<Body>;
  headers?: Partial<Headers>;
  /** Reports progress. Over HTTP, only operations that stream JSON lines report progress. */
  onProgress?: (progress: OperationProgress) => void;
}

/** Calls admin API operations in this process or over HTTP, with the same results and errors. */
export interface Caller {
  /** @throws ServiceError */
  call<Params, Query, Body, Output extends object | null, Headers>(
    operation: AdminOperation<Params, Query, Body, Output, Headers>,
    input: CallInput<Params, Query, Body, Headers>,
  ): Promise<Output>;
  /** The operations' database and configuration. Undefined over HTTP. */
  local: { database: Database; config: Config } | undefined;
  close(): Promise<void>;
}

/** Opens the database, or connects to the admin API that the user chose. */
export type Connect = () => Promise<Caller>;

/** A command's open caller and streams. */
export interface Context {
  caller: Caller;
  io: Io;
}

export async function* iteratePages<Page extends { next: string | null }>(
  read: (after: string | undefined) => Promise<Page>,
): AsyncGenerator<Page> {
  for (let after: string | undefined; ; ) {
    const page = await read(after);
    yield page;
    if (page.next === null) return;
    after = page.next;
  }
}

export async function withCaller<T>(connect: Connect, work: (caller: Caller) => Promise<T>): Promise<T> {
  const caller = await connect();
  try {
    return await work(caller);
  } finally {
    await caller.close();
  }
}

/** Yields the items in a paginated list, and reads each page on demand. */
export async function* readItems<Params, Query, Page extends { next: string | null }, Item>(
  caller: Caller,
  operation: AdminOperation<Params, Query & { after?: string | undefined }, unknown, Page, unknown>,
  { params, query }: Pick<CallInput<Params, Query, unknown>, 'params' | 'query'>,
  getItems: (page: Page) => Item[],
): AsyncGenerator<Item> {
  let after: string | undefined;
  do {
    const input = { ...(params && { params }), query: { ...query, ...(after && { after }) } };
    const page: Page = await caller.call(operation, input as CallInput<Params, Query, unknown>);
    yield* getItems(page);
    after = page.next ?? undefined;
  } while (after !== undefined);
}

/** Reads a paginated list's items, up to a maximum number. */
export async function readList<Params, Query, Page extends { next: string | null }, Item>(
  caller: Caller,
  operation: AdminOperation<Params, Query & { after?: string | undefined }, unknown, Page, unknown>,
  input: Pick<CallInput<Params, Query, unknown>, 'params' | 'query'>,
  getItems: (page: Page) => Item[],
  limit = Infinity,
): Promise<Item[]> {
  const read: Item[] = [];
  for await (const item of readItems(caller, operation, input, getItems)) {
    read.push(item);
    if (read.length >= limit) break;
  }
  return read;
}

export function remoteCaller(target: AdminTarget): Connect {
  return async () => ({
    call: (operation, input) => send(target, operation as AnyAdminOperation, input) as never,
    local: undefined,
    close: async () => {},
  });
}

async function send(
  { url: base, key, service }: AdminTarget,
  operation: AnyAdminOperation,
  { params, query, body, headers, onProgress }: CallInput<unknown, unknown, unknown>,
): Promise<unknown> {
  const {
    method,
    url,
    response: { lines },
    decode,
    bodyType,
    pack,
  } = operation;
  const path = url.replace(/:(\w+)/g, (_, name) =>
    encodeURIComponent(String((params as Record<string, unknown>)[name])),
  );
  const target = new URL(`${base.pathname.replace(/\/$/, '')}/v1${path}`, base);
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const each of Array.isArray(value) ? value : [value])
      if (each !== undefined && each !== null) target.searchParams.append(name, String(each));
  }
  const response = await request(target, {
    method,
    headers: {
      ...headers,
      accept: lines ? JSON_LINES : 'application/json, */*;q=0.5',
      [ERROR_HEADER]: 'yes',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(service && { [OPERATOR_HEADER]: encodeURIComponent(JSON.stringify(currentOperator())) }),
      ...(body === undefined ? {} : { 'content-type': bodyType ?? 'application/json' }),
    },
    body: pack ? await pack(body) : bodyText(body),
    service,
  });
  const name = apiName(base, service);
  if (response.ok && decode) return decode(response, params);
  if (response.ok && response.headers.get('content-type') === JSON_LINES)
    return checkResult(operation, await resultIn(response, name, onProgress), name);
  const text = await response.text();
  if (response.ok) return text === '' ? null : checkResult(operation, tryParseJson(text), name);
  if (response.status === 401 && service === undefined) throw new OperatorError(keyProblem(name, key));
  throw responseError(response, text, name);
}

/** Explains that an admin API requires another key, and where a command takes its key from. */
function keyProblem(name: string, key: string | undefined): string {
  const places = 'MEMORY_ADMIN_KEY, or "key" in the profile';
  if (key === undefined) return `${capitalize(name)} requires an admin key. Set ${places}.`;
  return `${capitalize(name)} does not accept the admin key: it is unknown, expired, or revoked. Change ${places}.`;
}

/**
 * Returns an operation's result if the value has a result's form. Fields that the operation does not know are kept.
 *
 * @throws OperatorError if it has another form
 */
function checkResult({ id, response }: AnyAdminOperation, result: unknown, name: string): unknown {
  if (response.schema === undefined || response.schema.safeParse(result).success) return result;
  throw new OperatorError(
    `${capitalize(name)} responded to ${id} in another form: it may not be an admin API, or it may have another version than this command.`,
  );
}

/** Returns a JSON text's value; undefined for any other text. */
function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function bodyText(body: unknown): string | undefined {
  return body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
}

/**
 * Reads a response in JSON lines up to its result.
 *
 * @throws ServiceError the error in the response
 */
async function resultIn(
  { body }: Response,
  name: string,
  onProgress: ((progress: OperationProgress) => void) | undefined,
): Promise<object> {
  for await (const line of linesIn(body ?? [])) {
    const { type, problem, parts, ...rest } = toFields(tryParseJson(line));
    if (type === 'progress') onProgress?.(rest as unknown as OperationProgress);
    else if (type === 'result') return rest;
    else throw errorWith(parts) ?? problemDetail(problem) ?? lostForm(name);
  }
  throw lostConnection(name);
}

async function* linesIn(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  for await (const chunk of chunks) {
    const [first = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n');
    pieces.push(first);
    for (const piece of others) {
      yield pieces.join('');
      pieces = [piece];
    }
  }
}

function responseError({ status, headers }: Response, text: string, name: string): Error {
  const problem = tryParseJson(text);
  const withReason = errorWith(headers.get(ERROR_HEADER));
  // The port for agents rejects these routes in the same form, but without the header.
  if (withReason === undefined && toFields(problem).code === 'route_not_found')
    return new OperatorError(
      `${capitalize(name)} has no such route: this may be the port for agents (PORT). Use the URL of the admin API (ADMIN_PORT).`,
    );
  const known = withReason ?? problemDetail(problem);
  if (known !== undefined) return known;
  const location = headers.get('location');
  const what = location === null ? `status ${status}` : `a redirect to ${location}`;
  return new OperatorError(`${capitalize(name)} responded with ${what}: it may not be an admin API.`, {
    // A proxy responds with these statuses while the service restarts.
    isTemporary: status >= 502 && status <= 504,
  });
}

/** Returns the error in a response's header; undefined without one, or for an error from another version. */
function errorWith(parts: unknown): ServiceError | undefined {
  if (typeof parts !== 'string') return undefined;
  try {
    const [reason, ...values] = JSON.parse(decodeURIComponent(parts));
    return new ServiceError(reason as 'internal_error', ...(values as [never]));
  } catch {
    return undefined;
  }
}

/** Returns the error that a problem describes; undefined for any other value. */
function problemDetail(problem: unknown): OperatorError | undefined {
  const { detail } = toFields(problem);
  return typeof detail === 'string' ? new OperatorError(detail) : undefined;
}

function lostForm(name: string): OperatorError {
  return new OperatorError(`${capitalize(name)} sent a line in another form: it may not be an admin API.`);
}

function toFields(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
