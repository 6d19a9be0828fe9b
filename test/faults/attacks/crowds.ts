/** Many requests at the same time whose bodies or headers take long to read. */
import { Agent, request } from 'node:http';
import { createDatabase, type Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { MeasuredService } from './measured-service.ts';

const BODY_BYTES = 6_000_000;
const HEADER_BYTES = 12_000;
/**
 * Number of requests with long headers at the same time. A millisecond for each header would block the event loop too
 * long.
 */
const REQUESTS = 100;

const escapes = { quotes: '\\"', backslashes: '\\\\', 'line breaks': '\\n', 'control characters': '\\u0001' };

/** Repeats a text up to the maximum length for a header. */
const header = (start: string, part: string) => start + part.repeat(HEADER_BYTES / part.length);
const headers: Record<string, Record<string, string>> = {
  'no header': {},
  'Accept of many ranges': { accept: header('', 'a,') },
  'Accept of one range': { accept: header('', 'application/json,') },
  'Accept of many parameters': { accept: header('application/json;', 'a=b;') },
  'Accept of quotes': { accept: header('application/json;a=', '"\\",') },
  'Content-Type of many parameters': { 'content-type': header('application/json;', 'a=b;') },
  'Content-Type of spaces': { 'content-type': header('application/json;', '; \t') },
  'X-Forwarded-For of many addresses': { 'x-forwarded-for': header('', '1.2.3.4,') },
  'Forwarded of many addresses': { forwarded: header('', 'for=1.2.3.4,') },
  'Cookie of many values': { cookie: header('', 'a=b;') },
  'Authorization of spaces': { authorization: header('Bearer ', ' \t') },
  'traceparent of dashes': { traceparent: header('', '00-') },
  'tracestate of many members': {
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
    tracestate: header('', 'a=b,'),
  },
  'Accept-Language of many languages': { 'accept-language': header('', 'fr,') },
  'If-None-Match of many tags': { 'if-none-match': header('', '"a",') },
};

export async function crowds(environment: Environment): Promise<Row> {
  const { postgres, option } = environment;
  const row = new Row('many requests at once with long bodies or headers');
  const url = postgres.url(postgres.port, await createDatabase(postgres));
  const service = await MeasuredService.start(url, row);
  const bodies = option('CROWD_BODIES', 40, 10);
  try {
    for (const path of ['/execute', '/mcp'])
      for (const [title, character] of Object.entries(escapes)) {
        const body = `{"command":"create","path":"/memories/f","file_text":"${character.repeat(BODY_BYTES / character.length)}"}`;
        await service.measureRead(`${bodies} bodies of ${title} to ${path}`, () =>
          crowd(service, bodies, path, {}, body),
        );
      }
    for (const path of ['/execute', '/mcp', '/'])
      for (const [title, given] of Object.entries(headers))
        await service.measureRead(`${REQUESTS} requests to ${path} with ${title}`, () =>
          crowd(service, REQUESTS, path, given, path === '/' ? undefined : '{}'),
        );
  } finally {
    await service.replica.end('SIGKILL');
  }
  row.notes.push(service.slowest());
  return row;
}

/** Sends requests at the same time, and waits for their responses. */
async function crowd(
  { replica }: MeasuredService,
  count: number,
  path: string,
  headers: Record<string, string>,
  body: string | undefined,
): Promise<void> {
  const agent = new Agent({ maxSockets: count });
  const send = () =>
    new Promise<void>((resolve) => {
      const sent = request(`${replica.url}${path}`, {
        agent,
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json', 'x-tenant-id': 'crowd', ...headers },
      });
      sent.on('response', (response) => response.resume().on('close', resolve));
      // The service may reject a body before it has arrived.
      sent.on('error', () => resolve());
      sent.end(body);
    });
  await Promise.all(Array.from({ length: count }, send));
  agent.destroy();
}
