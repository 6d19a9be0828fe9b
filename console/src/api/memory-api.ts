import { type ApiRequest, post, send, sendEmpty, sendJson, sendRequest } from './api-client.ts';
import type { DirectoryPage, SearchMatch, SizesPart } from './api-types.ts';
import type { Instructions, MemoryHealth, ReadSummary } from './schema.ts';
import { tenantPath } from './tenants-api.ts';

/** A page's start: after a cursor, at a file, or at a directory. By default, the first entry. */
export type PageStart = { after?: string; from?: string; from_directory?: string };

/** Lists one page of a directory, directories first. `at` is a time, or null for now. */
export const listDirectory = (
  tenant: string,
  path: string,
  at: string | null,
  start: PageStart,
  signal: AbortSignal,
) => sendJson<DirectoryPage>(tenantPath(tenant, '/directory'), { query: { path, at, ...start }, signal });

/** Counts one batch of the files below a directory. */
export const readSizes = (
  tenant: string,
  path: string,
  at: string | null,
  after: string | null,
  signal: AbortSignal,
) => sendJson<SizesPart>(tenantPath(tenant, '/directory/sizes'), { query: { path, at, after }, signal });

/** Returns the text for the system prompt of an agent that may write. */
export const readInstructions = (tenant: string, signal: AbortSignal) =>
  sendJson<Instructions>(tenantPath(tenant, '/instructions'), { signal });

/** Counts a file's recorded reads since a time. */
export const readSummary = (tenant: string, path: string, since: string, signal: AbortSignal) =>
  sendJson<ReadSummary>(tenantPath(tenant, '/reads/summary'), { query: { path, since }, signal });

/** Examines all files, and returns the findings. */
export const getHealth = (tenant: string, signal: AbortSignal) =>
  sendJson<MemoryHealth>(tenantPath(tenant, '/health'), { signal });

/** The service's maximum number of matches per search. */
const MAX_MATCHES = 100;

/** Searches paths and contents for words, best match first. `at` is a time, or null for now. */
export const search = (tenant: string, query: string, at: string | null, signal: AbortSignal) =>
  sendJson<{ matches: SearchMatch[]; more: number }>(tenantPath(tenant, '/search'), {
    query: { query, at, limit: MAX_MATCHES },
    signal,
  });

/** Lists files whose path contains a text, case-insensitively. */
export const findPaths = async (tenant: string, text: string, limit: number, signal: AbortSignal) => {
  const query = { query: ignoreCase(text), mode: 'regex', in: 'path', limit };
  const { matches } = await sendJson<{ matches: SearchMatch[] }>(tenantPath(tenant, '/search'), {
    query,
    signal,
  });
  return matches.map(({ path }) => path);
};

export interface LoadedFile {
  content: string;
  /** ETag for the content. Sent as `If-Match`, it prevents overwriting a newer content. */
  etag: string;
}

/** Reads a file byte for byte, including a byte order mark. */
export async function readFile(
  tenant: string,
  path: string,
  at: string | null,
  signal?: AbortSignal,
): Promise<LoadedFile> {
  const response = await send(tenantPath(tenant, '/file'), { query: { path, at }, signal });
  const content = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await response.arrayBuffer());
  return { content, etag: response.headers.get('etag') ?? '' };
}

/**
 * Replaces the content with the ETag `etag`, or creates the file if `etag` is null.
 *
 * @returns the new content's ETag
 * @throws ApiError with status 412 when the file has another ETag, or already exists
 */
export async function writeFile(
  tenant: string,
  path: string,
  content: string,
  etag: string | null,
): Promise<string> {
  const response = await sendEmpty(fileWrite(tenant, path, content, etag));
  return response.headers.get('etag') ?? '';
}

export const fileWrite = (tenant: string, path: string, body: string, etag: string | null): ApiRequest => ({
  method: 'PUT',
  path: tenantPath(tenant, '/file'),
  query: { path },
  headers: {
    'content-type': 'text/plain; charset=utf-8',
    ...(etag === null ? { 'if-none-match': '*' } : { 'if-match': etag }),
  },
  body,
});

export const directoryDeletion = (tenant: string, path: string): ApiRequest => ({
  method: 'DELETE',
  path: tenantPath(tenant, '/file'),
  query: { path, recursive: true },
  headers: { 'if-match': '*' },
});

export const moving = (tenant: string, from: string, to: string) =>
  post(tenantPath(tenant, '/move'), { from, to });
export const move = (tenant: string, from: string, to: string) => sendEmpty(moving(tenant, from, to));

/** The service rejects the deletion with status 412 when the file has another ETag. */
export const fileDeletion = (tenant: string, path: string, etag: string): ApiRequest => ({
  method: 'DELETE',
  path: tenantPath(tenant, '/file'),
  query: { path },
  headers: { 'if-match': etag },
});

export type CommandResult = { content: string; is_error: boolean };

/** Runs a memory command as an agent would. */
export const runCommand = (tenant: string, json: object) =>
  sendRequest<CommandResult>({ method: 'POST', path: tenantPath(tenant, '/execute'), json });

export type FleetMatch = { tenant: string; path: string; line: number | null; text: string | null };

/** Searches the contents of all tenants' files for a text, case-insensitively. Returns the first matches. */
export const searchAll = async (text: string, limit: number, signal: AbortSignal) => {
  const query = { query: ignoreCase(text), mode: 'regex', limit };
  return (await sendJson<{ matches: FleetMatch[] }>('search', { query, signal })).matches;
};

/** Returns a case-insensitive regular expression for a text. */
const ignoreCase = (text: string) => `(?i)${text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}`;
