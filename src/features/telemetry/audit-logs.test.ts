import { afterEach, expect, it, vi } from 'vitest';
import { startCollector } from '../../../test/support/otlp-collector.ts';
import { loadConfig } from '../../core/config.ts';
import { type CompletedAuditEvent, completedAuditEvents } from '../../core/tenants/audit.ts';
import { startAuditLogs } from './audit-logs.ts';

const EVENT: CompletedAuditEvent = {
  id: '0198c1d2-0000-7000-8000-000000000000',
  startedAt: new Date('2026-11-25T12:00:00Z'),
  actor: { type: 'admin_key', id: 'admin-1', label: 'private-label' },
  action: 'createKey',
  channel: 'admin_api',
  address: '203.0.113.7',
  requestId: null,
  dryRun: false,
  tenant: 'acme',
  key: 'key-1',
  details: { access: 'read_only' },
  outcome: 'ok',
};

afterEach(() => {
  vi.unstubAllEnvs();
});

async function start(answer: 200 | 'hang' = 200) {
  const collector = await startCollector();
  collector.answer = answer;
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const warnings: string[] = [];
  const log = { warn: (_: object, message: string) => void warnings.push(message), info: () => {} };
  // `stop` takes at most a quarter of the timeout to send the remaining records.
  const config = loadConfig({ ...env, SHUTDOWN_TIMEOUT_MS: answer === 'hang' ? '400' : '120000' });
  return { collector, warnings, logs: startAuditLogs(config, collector.url, log) };
}

it('sends an audit event to the collector as a log record with all fields', async () => {
  const { collector, logs } = await start();
  completedAuditEvents.publish(EVENT);
  await logs.stop();
  completedAuditEvents.publish(EVENT);
  expect(collector.received.map(({ path }) => path)).toStrictEqual(['/v1/logs']);
  expect(collector.logs()).toMatchObject([
    {
      eventName: 'memory_service.audit',
      timeUnixNano: '1795608000000000000',
      severityText: 'INFO',
      body: { stringValue: 'createKey: ok' },
    },
  ]);
  expect(collector.logs()[0]?.attributes).toStrictEqual({
    'memory_service.audit.id': EVENT.id,
    'memory_service.audit.action': 'createKey',
    'memory_service.audit.outcome': 'ok',
    'memory_service.audit.channel': 'admin_api',
    'memory_service.audit.dry_run': false,
    'memory_service.audit.actor.type': 'admin_key',
    'memory_service.audit.actor.id': 'admin-1',
    'memory_service.audit.key': 'key-1',
    'memory_service.audit.details': '{"access":"read_only"}',
    'client.address': '203.0.113.7',
    'gen_ai.memory.store.id': 'acme',
  });
  await collector.close();
});

it('limits the queue if the collector does not respond, without failing the audited request', async () => {
  const { collector, logs } = await start('hang');
  for (let i = 0; i < 6000; i++) completedAuditEvents.publish(EVENT);
  await logs.stop();
  // A batch with 512 records is on its way, and the queue has 2,048 records.
  expect(collector.logs().length).toBeLessThanOrEqual(2048 + 512);
  await collector.close();
});

it('subscribes to no audit events if no collector is configured', () => {
  expect(completedAuditEvents.hasSubscribers).toBe(false);
});
