import type { Context } from '@opentelemetry/api';
import { type LogAttributes, SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http';
import {
  JsonLogsSerializer,
  LogsExporterMetricsHelper,
  ProtobufLogsSerializer,
} from '@opentelemetry/otlp-transformer';
import { BatchLogRecordProcessor, LoggerProvider, type ReadableLogRecord } from '@opentelemetry/sdk-logs';
import type { Config } from '../../core/config.ts';
import { version } from '../../core/lib/service-version.ts';
import type { Actor } from '../../core/memory/origin.ts';
import { type CompletedAuditEvent, completedAuditEvents } from '../../core/tenants/audit.ts';
import { createResource, type ExportLog, protocolFor, stopInTime, withFaultReports } from './otlp.ts';

/** The exporter from `@opentelemetry/exporter-logs-otlp-…`, whose other parts are installed for traces already. */
function createExporter(config: Config, timeoutMillis: number | undefined) {
  const isJson = protocolFor('LOGS', config) === 'http/json';
  const headers = { 'Content-Type': isJson ? 'application/json' : 'application/x-protobuf' };
  const options = convertLegacyHttpOptions(
    timeoutMillis === undefined ? {} : { timeoutMillis },
    'LOGS',
    'v1/logs',
    headers,
  );
  const serializer = isJson ? JsonLogsSerializer : ProtobufLogsSerializer;
  return new OTLPExporterBase<ReadableLogRecord[]>(
    createOtlpHttpExportDelegate(
      options,
      serializer,
      'otlp_http_log_exporter',
      LogsExporterMetricsHelper,
      undefined,
    ),
  );
}

/**
 * Sends each completed event in the audit trail to the collector, as a log record. At most 2,048 records wait, and
 * further records are dropped: the audit trail in the database has all events.
 *
 * @param options.activeContext returns the caller's trace context, which links a record to its trace
 * @param options.timeoutMillis time limit for an export with its retries; `OTEL_EXPORTER_OTLP_TIMEOUT` by default
 */
export function startAuditLogs(
  config: Config,
  endpoint: string,
  log: ExportLog,
  {
    activeContext,
    timeoutMillis,
  }: { activeContext?: (() => unknown) | undefined; timeoutMillis?: number } = {},
): { stop(): Promise<void> } {
  const exporter = withFaultReports(createExporter(config, timeoutMillis), { signal: 'logs', endpoint, log });
  const provider = new LoggerProvider({
    resource: createResource(),
    processors: [new BatchLogRecordProcessor({ exporter })],
  });
  const logger = provider.getLogger('memory-service', version);
  const emit = (message: unknown) => {
    const event = message as CompletedAuditEvent;
    const context = activeContext?.() as Context | undefined;
    const isOk = event.outcome === 'ok';
    logger.emit({
      eventName: 'memory_service.audit',
      timestamp: event.startedAt,
      severityNumber: isOk ? SeverityNumber.INFO : SeverityNumber.WARN,
      severityText: isOk ? 'INFO' : 'WARN',
      body: `${event.action}: ${event.outcome}`,
      attributes: eventAttributes(event),
      ...(context === undefined ? {} : { context }),
    });
  };
  completedAuditEvents.subscribe(emit);
  return {
    stop: () => {
      completedAuditEvents.unsubscribe(emit);
      return stopInTime(provider, config);
    },
  };
}

function actorIdentifier(actor: Actor): string | null {
  if ('id' in actor) return actor.id;
  if ('subject' in actor) return actor.subject;
  return 'name' in actor ? actor.name : null;
}

/** Returns an event's fields. The details are a JSON text, because a SIEM may not read nested attributes. */
function eventAttributes(event: CompletedAuditEvent): LogAttributes {
  const { id, actor, action, channel, address, requestId, dryRun, tenant, key, details, outcome } = event;
  const attributes: LogAttributes = {
    'memory_service.audit.id': id,
    'memory_service.audit.action': action,
    'memory_service.audit.outcome': outcome,
    'memory_service.audit.channel': channel,
    'memory_service.audit.dry_run': dryRun,
    'memory_service.audit.actor.type': actor.type,
    'client.address': address,
  };
  const actorId = actorIdentifier(actor);
  if (actorId !== null) attributes['memory_service.audit.actor.id'] = actorId;
  if (requestId !== null) attributes['http.response.header.x-request-id'] = [requestId];
  if (tenant !== undefined) attributes['gen_ai.memory.store.id'] = tenant;
  if (key !== undefined) attributes['memory_service.audit.key'] = key;
  if (details !== undefined) attributes['memory_service.audit.details'] = JSON.stringify(details);
  return attributes;
}
