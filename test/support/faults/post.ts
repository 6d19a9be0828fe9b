/** One attempt at a tool call by a client with a timeout. */
import { type Agent, request } from 'node:http';

export interface Attempt {
  status: number;
  retryAfter: string | undefined;
  content: string;
  isError: boolean;
}

/** @throws the error that ended the connection, or an error with the code HUNG after the timeout */
export function post(
  url: string,
  agent: Agent,
  tenant: string,
  body: string,
  limitMs: number,
): Promise<Attempt> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'x-tenant-id': tenant,
    };
    const sent = request(`${url}/execute`, { agent, method: 'POST', headers }, async (answer) => {
      try {
        const text = Buffer.concat(await answer.toArray()).toString();
        const parsed = JSON.parse(text) as { content?: string; is_error?: boolean };
        resolve({
          status: answer.statusCode ?? 0,
          retryAfter: answer.headers['retry-after'],
          content: parsed.content ?? text,
          isError: parsed.is_error ?? false,
        });
      } catch (error) {
        reject(error);
      } finally {
        clearTimeout(timer);
      }
    });
    const hung = Object.assign(new Error('hung'), { code: 'HUNG' });
    const timer = setTimeout(() => sent.destroy(hung), limitMs);
    sent.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    sent.end(body);
  });
}
