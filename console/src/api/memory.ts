import { send, sendJson } from './client.ts';
import { tenantPath } from './tenants.ts';
import type { DirectoryPage, SearchMatch, SizesPart } from './types.ts';

/** Where a page begins: after the page before, at a file, or at a directory. By default at the start. */
export type PageStart = { after?: string; from?: string; from_directory?: string };

/** A page of what is in a directory, its directories first; `at` is a time, or null for now. */
export const listDirectory = (
  tenant: string,
  path: string,
  at: string | null,
  start: PageStart,
  signal: AbortSignal,
) => sendJson<DirectoryPage>(tenantPath(tenant, '/directory'), { query: { path, at, ...start }, signal });

/** Counts a part of the files below a directory. */
export const readSizes = (
  tenant: string,
  path: string,
  at: string | null,
  after: string | null,
  signal: AbortSignal,
) => sendJson<SizesPart>(tenantPath(tenant, '/directory/sizes'), { query: { path, at, after }, signal });

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

/** Deletes a directory and everything below it. */
export const deleteDirectory = (tenant: string, path: string) =>
  send(tenantPath(tenant, '/file'), {
    method: 'DELETE',
    query: { path, recursive: true },
    headers: { 'if-match': '*' },
  });

export const move = (tenant: string, from: string, to: string) =>
  send(tenantPath(tenant, '/move'), { method: 'POST', json: { from, to } });

/** @throws ApiError with status 412 when the file changed since */
export const deleteFile = (tenant: string, path: string, etag: string) =>
  send(tenantPath(tenant, '/file'), { method: 'DELETE', query: { path }, headers: { 'if-match': etag } });
