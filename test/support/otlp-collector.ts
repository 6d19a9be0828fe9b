import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

type Value = {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: number;
  arrayValue?: { values: Value[] };
};
type Attributes = { key: string; value: Value }[];

interface ResourceLogs {
  scopeLogs: { logRecords: (Omit<LogRecord, 'attributes'> & { attributes: Attributes })[] }[];
}

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Attributes;
  links: { traceId: string; spanId: string }[];
  status: { code: number; message?: string };
}

export interface Span extends Omit<OtlpSpan, 'attributes'> {
  attributes: Record<string, unknown>;
}

export interface LogRecord {
  eventName: string;
  timeUnixNano: string;
  severityText: string;
  body: { stringValue: string };
  traceId?: string;
  attributes: Record<string, unknown>;
}

/** A collector with the export requests that it received. */
export interface Collector {
  url: string;
  received: { path: string; headers: IncomingHttpHeaders; body: string }[];
  /** Response to the next export requests: a status, or none. */
  answer: number | 'hang';
  /** Returns the spans in all export requests (http/json). */
  spans(): Span[];
  /** Returns the log records in all export requests (http/json). */
  logs(): LogRecord[];
  /** Returns the resource attributes in the first export request. */
  resource(): Record<string, unknown>;
  close(): Promise<void>;
}

/** Starts a collector for traces and logs (OTLP over HTTP). */
export async function startCollector(): Promise<Collector> {
  const collector: Collector = {
    url: '',
    received: [],
    answer: 200,
    spans: () =>
      resourceSpans().flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) =>
          spans.map((span) => ({ ...span, attributes: readAttributes(span.attributes) })),
        ),
      ),
    logs: () =>
      collector.received.flatMap(({ body }) => {
        const { resourceLogs = [] } = JSON.parse(body) as { resourceLogs?: ResourceLogs[] };
        return resourceLogs.flatMap(({ scopeLogs }) =>
          scopeLogs.flatMap(({ logRecords }) =>
            logRecords.map((record) => ({ ...record, attributes: readAttributes(record.attributes) })),
          ),
        );
      }),
    resource: () => readAttributes(resourceSpans()[0]?.resource.attributes ?? []),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    collector.received.push({ path: request.url ?? '', headers: request.headers, body });
    if (collector.answer === 'hang') return;
    response.writeHead(collector.answer, { 'content-type': 'application/json' }).end('{}');
  });
  function resourceSpans() {
    return collector.received.flatMap(({ body }) => {
      const { resourceSpans = [] } = JSON.parse(body) as {
        resourceSpans?: { resource: { attributes: Attributes }; scopeSpans: { spans: OtlpSpan[] }[] }[];
      };
      return resourceSpans;
    });
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  collector.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return collector;
}

function readAttributes(attributes: Attributes): Record<string, unknown> {
  const read = ({ stringValue, boolValue, intValue, arrayValue }: Value): unknown =>
    stringValue ?? boolValue ?? intValue ?? arrayValue?.values.map(read);
  return Object.fromEntries(attributes.map(({ key, value }) => [key, read(value)]));
}

/** Returns the spans below a parent, one per line, indented by depth. */
export function showTree(spans: Span[], parentSpanId: string, depth = 0): string[] {
  return spans
    .filter((span) => span.parentSpanId === parentSpanId)
    .flatMap((span) => [`${'  '.repeat(depth)}${span.name}`, ...showTree(spans, span.spanId, depth + 1)]);
}
