/** Shared parts for exports to an OpenTelemetry collector. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import type { Config } from '../../core/config.ts';
import { version } from '../../core/lib/service-version.ts';

/** This process's ID, the same for all signals. */
const INSTANCE = randomUUID();

export function createResource(): Resource {
  const own = {
    'service.name': 'memory-service',
    'service.version': version,
    'service.instance.id': INSTANCE,
  };
  return defaultResource()
    .merge(resourceFromAttributes(own))
    .merge(detectResources({ detectors: [envDetector] }));
}

export function protocolFor(signal: 'TRACES' | 'LOGS', config: Config): 'http/protobuf' | 'http/json' {
  return config[`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`] ?? config.OTEL_EXPORTER_OTLP_PROTOCOL;
}

interface Exporter<Item> {
  export(items: Item[], done: (result: ExportResult) => void): void;
  shutdown(): Promise<void>;
  forceFlush?(): Promise<void>;
}

/** Receives one warning when exports fail, and one message when they recover. */
export interface ExportLog {
  warn(details: object, message: string): void;
  info(details: object, message: string): void;
}

const FAILED = {
  traces: 'the collector takes no traces: spans are dropped, and requests are not affected',
  logs: 'the collector takes no audit logs: they are dropped, and the audit trail is not affected',
};

const RECOVERED = {
  traces: 'the collector takes traces again',
  logs: 'the collector takes audit logs again',
};

/** Returns an exporter that logs one warning when exports to the collector fail, and one message when they recover. */
export function withFaultReports<Item>(
  exporter: Exporter<Item>,
  { signal, endpoint, log }: { signal: keyof typeof FAILED; endpoint: string; log: ExportLog },
): Required<Exporter<Item>> {
  const collector = new URL(endpoint).origin;
  let isFailing = false;
  const report = ({ code, error }: ExportResult) => {
    if (isFailing === (code !== ExportResultCode.SUCCESS)) return;
    isFailing = !isFailing;
    if (isFailing) log.warn({ collector, reason: errorReason(error) }, FAILED[signal]);
    else log.info({ collector }, RECOVERED[signal]);
  };
  return {
    export: (items, done) =>
      exporter.export(items, (result) => {
        report(result);
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}

/**
 * Returns the HTTP status or a network error's code. The error's message may contain text from an untrusted server at
 * this address.
 */
function errorReason(error: (Error & { code?: unknown }) | undefined): unknown {
  return error?.code ?? 'no response in time';
}

/**
 * Maximum share of `SHUTDOWN_TIMEOUT_MS` for exporting the last items. The limit keeps a hanging collector from failing
 * the shutdown.
 */
const FLUSH_SHARE = 1 / 4;

export async function stopInTime(
  provider: { shutdown(): Promise<unknown> },
  { SHUTDOWN_TIMEOUT_MS }: Config,
): Promise<void> {
  // A failure can be ignored, because the exporter has already logged it.
  const stopped = provider.shutdown().catch(() => {});
  const timer = new AbortController();
  await Promise.race([
    stopped,
    delay(SHUTDOWN_TIMEOUT_MS * FLUSH_SHARE, undefined, { signal: timer.signal }).catch(() => {}),
  ]);
  timer.abort();
}
