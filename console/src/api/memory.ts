import { send, sendJson } from './client.ts';
import { tenantPath } from './tenants.ts';
import type { SearchMatch, TreePage } from './types.ts';

const PAGE = 1000;

/** A page of everything in a memory, in the order of the paths; `at` is a time, or null for now. */
export const readTree = (tenant: string, at: string | null, after: string | null, signal: AbortSignal) =>
  sendJson<TreePage>(tenantPath(tenant, '/tree'), { query: { at, after, limit: PAGE }, signal });

/** The most matches that the service shows at once. */
const MAX_MATCHES = 100;

/** Finds files by words in their paths and contents, the best first; `at` is a time, or null for now. */
export const search = (tenant: string, query: string, at: string | null, signal: AbortSignal) =>
  sendJson<{ matches: SearchMatch[]; more: number }>(tenantPath(tenant, '/search'), {
    query: { query, at, limit: MAX_MATCHES },
    signal,
  });

export interface LoadedFile {
  content: string;
  /** What a change has to name, so that it replaces this content and no other. */
  etag: string;
}

/** A file byte for byte, with a byte order mark when it has one. */
export async function readFile(
  tenant: string,
  path: string,
  at: string | null,
  signal?: AbortSignal,
): Promise<LoadedFile> {
  const options = { query: { path, at }, ...(signal ? { signal } : {}) };
  const response = await send(tenantPath(tenant, '/file'), options);
  const content = new TextDecoder('utf-8', { ignoreBOM: true }).decode(await response.arrayBuffer());
  return { content, etag: response.headers.get('etag') ?? '' };
}

/**
 * Replaces the content that `etag` names, or creates the file when it is null.
 *
 * @returns the etag of what was stored
 * @throws ApiError with status 412 when the file is not as expected
 */
export async function writeFile(
  tenant: string,
  path: string,
  content: string,
  etag: string | null,
): Promise<string> {
  const response = await send(tenantPath(tenant, '/file'), {
    method: 'PUT',
    query: { path },
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      ...(etag === null ? { 'if-none-match': '*' } : { 'if-match': etag }),
    },
    body: content,
  });
  return response.headers.get('etag') ?? '';
}

/** @throws ApiError with status 412 when the file changed since */
export const deleteFile = (tenant: string, path: string, etag: string) =>
  send(tenantPath(tenant, '/file'), { method: 'DELETE', query: { path }, headers: { 'if-match': etag } });
