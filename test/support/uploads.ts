import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';

/** Sends the headers for an import and returns once its request is in flight. The caller sends the body. */
export async function openUpload(
  url: string,
  { tenant, key, accept }: { tenant: string; key?: string; accept?: string },
): Promise<ClientRequest> {
  const upload = request(`${url}/v1/tenants/${tenant}/import`, {
    method: 'POST',
    agent: false,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(accept === undefined ? {} : { accept }),
      'content-type': 'application/x-tar',
      // The service sends 100 Continue when it starts the request.
      expect: '100-continue',
    },
  });
  upload.flushHeaders();
  await once(upload, 'continue');
  return upload;
}

/** Returns the response to an upload that is complete or was rejected: one JSON line, or several. */
export async function readUploadResponse(upload: ClientRequest) {
  const [response] = (await once(upload, 'response')) as [IncomingMessage];
  const text = Buffer.concat(await response.toArray()).toString();
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { status: response.statusCode, headers: response.headers, lines };
}
