import { ApiError, authorization, failed, send, urlOf } from './client.ts';
import { tenantPath } from './tenants.ts';
import type { ImportResult } from './types.ts';

/** From 0 to 1; null while it is not known. */
export type OnProgress = (fraction: number | null) => void;

/** Downloads a whole memory as a tar archive. */
export async function exportArchive(
  tenant: string,
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<Blob> {
  const response = await send(tenantPath(tenant, '/export'), { signal });
  const total = Number(response.headers.get('content-length'));
  let received = 0;
  const counter = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      received += chunk.byteLength;
      onProgress(total > 0 ? received / total : null);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body?.pipeThrough(counter) ?? null).blob();
}

/** Uploads a tar archive. By `XMLHttpRequest`, because `fetch` does not tell how much of a body it has sent. */
export function importArchive(
  tenant: string,
  archive: Blob,
  options: { into?: string | undefined; dry_run?: boolean },
  onProgress: OnProgress,
  signal: AbortSignal,
): Promise<ImportResult> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', urlOf(tenantPath(tenant, '/import'), options));
    request.setRequestHeader('content-type', 'application/x-tar');
    request.setRequestHeader('accept', 'application/json');
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress(loaded < total ? loaded / total : null);
    request.onload = () => {
      const body = parsed(request.responseText);
      if (request.status < 300) resolve(body as ImportResult);
      else reject(failed(new ApiError(request.status, body)));
    };
    request.onerror = () => reject(new TypeError('The connection was lost.'));
    request.onabort = () => reject(new DOMException('Aborted', 'AbortError'));
    signal.addEventListener('abort', () => request.abort());
    request.send(archive);
  });
}

function parsed(text: string): object {
  try {
    return JSON.parse(text);
  } catch {
    // Not from the service: a proxy in front of it answers in HTML.
    return {};
  }
}
