import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';

/** Sends spans to the collector, by the protocol that the configuration names. */
export function createExporter(config: Config, endpoint: string, log: Logger): SpanExporter {
  const protocol = config.OTEL_EXPORTER_OTLP_TRACES_PROTOCOL ?? config.OTEL_EXPORTER_OTLP_PROTOCOL;
  const exporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter();
  return new ReportingExporter(exporter, new URL(endpoint).origin, log);
}

/** Logs that the collector takes no spans: once, until it takes some again. */
class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter;
  readonly #collector: string;
  readonly #log: Logger;
  #isFailing = false;

  constructor(exporter: SpanExporter, collector: string, log: Logger) {
    this.#exporter = exporter;
    this.#collector = collector;
    this.#log = log;
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#report(result);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.forceFlush?.();
  }

  #report({ code, error }: ExportResult): void {
    const isFailing = code !== ExportResultCode.SUCCESS;
    if (isFailing === this.#isFailing) return;
    this.#isFailing = isFailing;
    const collector = this.#collector;
    if (isFailing) {
      this.#log.warn(
        { collector, reason: reasonOf(error) },
        'the collector takes no traces: spans are dropped, and requests are not affected',
      );
    } else this.#log.info({ collector }, 'the collector takes traces again');
  }
}

/** An HTTP status, or the code of a network error. The message may hold what a stranger at this address sent. */
function reasonOf(error: (Error & { code?: unknown }) | undefined): unknown {
  return error?.code ?? 'no response in time';
}
