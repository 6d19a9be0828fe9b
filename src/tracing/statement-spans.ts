import { type Attributes, type Context, SpanKind, trace } from '@opentelemetry/api';
import { DatabaseError } from '../postgres/errors.ts';
import type { StatementTracer } from '../postgres/statement-tracer.ts';
import { fail, type SpanSource } from './request-spans.ts';

/**
 * Gives each traced request a span for each statement that serves it (database conventions). When a statement serves several requests,
 * each has a span of its own with the same times, linked to the other requests: so every trace is complete, whatever is sampled.
 *
 * @param options.database its URL; undefined for the embedded one
 */
export function traceStatements({
  tracer,
  contexts,
  database,
}: SpanSource & { database: string | undefined }): StatementTracer {
  const target = describeTarget(database);
  return {
    current: () => {
      const context = contexts.active();
      return trace.getSpan(context)?.isRecording() ? context : undefined;
    },
    trace: async (statement, requests, execute) => {
      const attributes = {
        ...target,
        'db.query.summary': statement,
        ...(requests.length > 1 ? { 'db.operation.batch.size': requests.length } : {}),
      };
      const spans = requests.map((request) =>
        tracer.startSpan(
          statement,
          { kind: SpanKind.CLIENT, attributes, links: linksTo(requests, request) },
          request,
        ),
      );
      try {
        return await execute();
      } catch (error) {
        const type = error instanceof DatabaseError ? (error.faultCode ?? error.code) : '_OTHER';
        for (const span of spans) fail(span, type);
        throw error;
      } finally {
        for (const span of spans) span.end();
      }
    },
  };
}

function linksTo(requests: readonly Context[], own: Context) {
  return requests.flatMap((request) => {
    const context = request === own ? undefined : trace.getSpanContext(request);
    return context === undefined ? [] : [{ context }];
  });
}

function describeTarget(database: string | undefined): Attributes {
  const system = { 'db.system.name': 'postgresql' };
  if (database === undefined) return system;
  const { hostname, port, pathname, searchParams } = new URL(database);
  return {
    ...system,
    'db.namespace': decodeURIComponent(pathname.slice(1)),
    'server.address': searchParams.get('host') ?? (hostname || 'localhost'),
    'server.port': Number(port || 5432),
  };
}
