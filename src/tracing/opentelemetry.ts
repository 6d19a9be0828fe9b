import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ROOT_CONTEXT, type TextMapGetter } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { version } from '../version.ts';
import { createExporter } from './exporter.ts';
import { startRequest } from './request-spans.ts';
import { traceStatements } from './statement-spans.ts';
import type { Tracing } from './tracing.ts';

/** How much of the time for a stop may go to the last spans: a collector that hangs must not make the stop fail. */
const FLUSH_SHARE = 1 / 4;

/**
 * Reads a header; of one that was sent twice, the last one: a client that sends `traceparent` may use a `fetch` that is instrumented and
 * adds its own, which names the nearer span.
 */
const LAST_HEADER: TextMapGetter<IncomingHttpHeaders> = {
  keys: (headers) => Object.keys(headers),
  get: (headers, name) => {
    const value = headers[name];
    return typeof value === 'string' && name === 'traceparent' ? value.split(',').at(-1)?.trim() : value;
  },
};

/**
 * Tracing with OpenTelemetry's SDK, which reads the other OTEL_ variables itself. Nothing is registered globally, so packages that have
 * an instrumentation of their own add no spans.
 */
export function startOpenTelemetry(config: Config, endpoint: string, log: Logger): Tracing {
  const contexts = new AsyncLocalStorageContextManager().enable();
  const propagator = new W3CTraceContextPropagator();
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(
        resourceFromAttributes({
          'service.name': 'memory-service',
          'service.version': version,
          'service.instance.id': randomUUID(),
        }),
      )
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(createExporter(config, endpoint, log))],
  });
  const tracer = provider.getTracer('memory-service', version);
  return {
    statements: traceStatements({ tracer, contexts, database: config.DATABASE_URL }),
    startRequest: (request) => {
      const caller = propagator.extract(ROOT_CONTEXT, request.headers, LAST_HEADER);
      return startRequest({ tracer, contexts }, request, caller);
    },
    stop: async () => {
      // The exporter has logged a failure.
      const stopped = provider.shutdown().catch(() => {});
      await Promise.race([stopped, delay(config.SHUTDOWN_TIMEOUT_MS * FLUSH_SHARE)]);
    },
  };
}
