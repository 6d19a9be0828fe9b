import {
  ApiError,
  authorizationHeaders,
  noteError,
  type Problem,
  readProblem,
  send,
  toUrl,
} from './api-client.ts';
import type { ImportResult } from './api-types.ts';
import { tenantPath } from './tenants-api.ts';

/**
 * Downloads a memory, or one directory, as a tar archive.
 *
 * @param what a `path` for one directory, or `history` for the whole memory with its history
 * @param onProgress receives the downloaded and the total bytes
 */
export async function exportArchive(
  tenant: string,
  what: { path?: string; history?: boolean },
  onProgress: (done: number, of: number) => void,
  signal: AbortSignal,
): Promise<Blob> {
  const response = await send(tenantPath(tenant, '/export'), { query: what, signal });
  const total = Number(response.headers.get('content-length'));
  let received = 0;
  const counter = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      received += chunk.byteLength;
      onProgress(received, total);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(counter) ?? null).blob();
}

/** Progress during an import: bytes sent in step `send`, files written in step `write`. */
export type ImportProgress = { step: 'send' | 'write'; done: number; of: number };

type ImportLine =
  | { type: 'progress'; step: 'check' }
  | { type: 'progress'; step: 'write'; files: number; of: number }
  | ({ type: 'result' } & ImportResult)
  | { type: 'error'; problem: Problem & { status: number } };

const LINES = 'application/x-ndjson';

/**
 * Uploads a tar archive. A dry run only checks it, and lists the files that an import would add. `XMLHttpRequest` reports upload progress, which
 * `fetch` does not.
 */
export function importArchive(
  tenant: string,
  archive: Blob,
  { dryRun }: { dryRun: boolean },
  onProgress: (progress: ImportProgress) => void,
  signal: AbortSignal,
): Promise<ImportResult> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const fail = (status: number, problem: Problem) => reject(noteError(new ApiError(status, problem)));
    const read = lineReader<ImportLine>((line) => {
      if (line.type === 'result') resolve(line);
      else if (line.type === 'error') fail(line.problem.status, line.problem);
      else if (line.step === 'write') onProgress({ step: 'write', done: line.files, of: line.of });
    });
    const readLines = () => {
      const areLines = request.getResponseHeader('content-type') === LINES;
      if (areLines) read(request.responseText);
      return areLines;
    };
    request.open('POST', toUrl(tenantPath(tenant, '/import'), { dry_run: dryRun }));
    request.setRequestHeader('content-type', 'application/x-tar');
    request.setRequestHeader('accept', LINES);
    for (const [name, value] of Object.entries(authorizationHeaders())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress({ step: 'send', done: loaded, of: total });
    request.onprogress = readLines;
    request.onload = () => {
      // A promise ignores this call if a line already resolved or rejected it.
      if (readLines()) reject(new TypeError('The response ended early.'));
      else
        void readProblem(new Response(request.responseText)).then((problem) => fail(request.status, problem));
    };
    request.onerror = () => reject(new TypeError('The connection was lost.'));
    request.onabort = () => reject(new DOMException('Aborted', 'AbortError'));
    signal.addEventListener('abort', () => request.abort());
    request.send(archive);
  });
}

/**
 * Returns a parser for a growing text of JSON lines. Each call passes the whole text so far; `onLine` gets each new
 * line.
 */
function lineReader<Line>(onLine: (line: Line) => void): (text: string) => void {
  let start = 0;
  return (text) => {
    for (let end = text.indexOf('\n', start); end !== -1; end = text.indexOf('\n', start)) {
      onLine(JSON.parse(text.slice(start, end)));
      start = end + 1;
    }
  };
}
