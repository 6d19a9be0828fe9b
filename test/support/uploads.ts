import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';

/** Sends the headers of an import, and returns once its request is in flight: its body is still to be sent. */
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
      // The service answers this when it takes up the request.
      expect: '100-continue',
    },
  });
  upload.flushHeaders();
  await once(upload, 'continue');
  return upload;
}

/** The answer to an upload that has ended, or that the service does not wait for: one line of JSON, or several. */
export async function answerTo(upload: ClientRequest) {
  const [response] = (await once(upload, 'response')) as [IncomingMessage];
  const text = Buffer.concat(await response.toArray()).toString();
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { status: response.statusCode, headers: response.headers, lines };
}
