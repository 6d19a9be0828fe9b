import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import { webhookCommands } from './cli/webhook-commands.ts';
import * as operations from './webhook-operations.ts';

/** Webhooks: changes to memories, sent to HTTP endpoints by the Standard Webhooks specification. */
export const webhooks: Feature = {
  name: 'webhooks',
  uses: ['feed'],
  operations: operationsIn(operations),
  commands: [webhookCommands],
  async start({ config, database, log }) {
    const [{ Sender }, { pruneDeliveries }, { JobFaults }] = await Promise.all([
      import('./sender.ts'),
      import('./prune-deliveries.ts'),
      import('../../core/database/job-faults.ts'),
    ]);
    const faults = new JobFaults(log);
    const sender = new Sender(database, {
      allowed: config.WEBHOOK_ALLOWED_ADDRESSES ?? [],
      onDisabled: ({ id, tenant }, reason) =>
        log.warn({ webhook: id, tenant, reason }, 'a webhook was disabled'),
      onFault: ({ id }, error) => faults.report('webhooks', error, 'a webhook was not served', { id }),
    });
    return {
      hourly: { 'webhook deliveries': () => pruneDeliveries(database) },
      everySecond: { webhooks: () => sender.run() },
      stopJobs: () => sender.stop(),
    };
  },
};
