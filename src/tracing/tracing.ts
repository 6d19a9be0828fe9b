import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { StatementTracer } from '../postgres/statement-tracer.ts';

/** Traces what the service does. There is none while tracing is off. */
export interface Tracing {
  readonly statements: StatementTracer;
  /** Starts the span of a request, which continues the trace that its headers name. */
  startRequest(request: RequestDetails): RequestTrace;
  /** Sends the spans that are left, and gives up after a short time. */
  stop(): Promise<void>;
}

export interface RequestDetails {
  id: string;
  method: string;
  route: string;
  scheme: string;
  headers: IncomingHttpHeaders;
}

export interface RequestTrace {
  readonly traceId: string;
  /** Runs `work` as part of the request. */
  within(work: () => void): void;
  startCommand(call: CommandDetails): CommandTrace;
  /** @param response.outcome what its log line says: a problem's code when the status is an error's */
  end(response: { status: number; tenant: string | undefined; outcome: string | undefined }): void;
}

export interface CommandDetails {
  command: string;
  createExisting: 'error' | 'overwrite';
  tenant: string;
  toolUseId: string | undefined;
}

export interface CommandTrace {
  /** Labels that lead from a metric to the command; undefined when the trace is not kept. */
  readonly exemplar: { trace_id: string; span_id: string } | undefined;
  /** Runs the command, and ends its spans with what came of it. */
  run<T extends { isError: boolean }>(command: () => Promise<T>): Promise<T>;
}

/** Starts tracing when a collector is configured. */
export async function startTracing(config: Config, log: Logger): Promise<Tracing | undefined> {
  const endpoint = config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined || config.OTEL_SDK_DISABLED) return undefined;
  // Imported on demand: without a collector, none of OpenTelemetry is loaded.
  const { startOpenTelemetry } = await import('./opentelemetry.ts');
  return startOpenTelemetry(config, endpoint, log);
}
