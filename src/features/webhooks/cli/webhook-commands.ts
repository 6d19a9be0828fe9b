import { Option } from 'commander';
import {
  createListParser,
  memoryPath,
  positiveInteger,
  TIME_HELP,
  tenantId,
  timeArgument,
} from '../../../core/cli/arguments.ts';
import { readList } from '../../../core/cli/caller.ts';
import { type Cli, command, group } from '../../../core/cli/cli-command.ts';
import { parseOverlap } from '../../../core/cli/key-commands.ts';
import { table, time } from '../../../core/cli/output.ts';
import { OperatorError } from '../../../core/errors/errors.ts';
import type { MemoryPath } from '../../../core/memory/path.ts';
import { eventType } from '../../feed/cli/changes-command.ts';
import {
  createWebhook,
  deleteWebhook,
  listWebhookDeliveries,
  listWebhooks,
  redeliverWebhook,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  type WebhookRecord,
} from '../webhook-operations.ts';
import type { EventType } from '../webhooks.ts';

const ID_HELP = 'ID of the webhook, from `webhooks list`';

interface CreateOptions {
  tenant?: string;
  type?: EventType[];
  path?: MemoryPath;
  content?: boolean;
}

const createCommand = (cli: Cli) =>
  command(cli, 'create', 'Create a webhook and print its secret. It cannot be shown again.')
    .argument('<url>', 'URL that receives the messages')
    .option('--tenant <tenant>', "only this tenant's changes; by default all tenants'", tenantId)
    .option(
      '--type <type>',
      'only events with this type, as in `changes`; may be repeated',
      createListParser(eventType),
    )
    .option('--path <path>', 'only changes to this file, or below this directory', memoryPath)
    .option('--content', 'send the contents too')
    .option('--json', 'print JSON')
    .examples(
      'memory-service webhooks create https://example.com/memory --tenant acme',
      'memory-service webhooks create https://example.com/siem --type redacted --type deleted',
    )
    .run(async ({ caller }, url: string, { tenant, type, path, content = false }: CreateOptions) => {
      const body = { tenant: tenant ?? null, url, types: type ?? null, path: path ?? null, content };
      const created = await caller.call(createWebhook, { body });
      const note = `Created webhook ${created.id}. Its secret cannot be shown again:`;
      return { json: created, note, text: created.secret };
    });

const listCommand = (cli: Cli) =>
  command(cli, 'list', 'List webhooks and their states.')
    .option('--tenant <tenant>', "only this tenant's webhooks", tenantId)
    .option('--json', 'print JSON')
    .examples('memory-service webhooks list --tenant acme')
    .run(async ({ caller }, { tenant }: { tenant?: string }) => {
      const query = tenant === undefined ? {} : { tenant };
      const { webhooks } = await caller.call(listWebhooks, { query });
      const text = table(webhooks, {
        ID: (webhook) => webhook.id,
        TENANT: (webhook) => webhook.tenant ?? '(all)',
        STATE: stateText,
        URL: (webhook) => webhook.url,
        EVENTS: eventsText,
        CREATED: (webhook) => time(webhook.created_at),
      });
      return { json: webhooks, text };
    });

function stateText({ disabled_reason: reason, failing_since: since }: WebhookRecord): string {
  if (reason !== null) return `disabled: ${reason}`;
  return since === null ? 'enabled' : `failing since ${time(since)}`;
}

function eventsText({ types, path, content }: WebhookRecord): string {
  const parts = [types?.join(', ') ?? 'all', path ?? '', content ? 'with contents' : ''];
  return parts.filter((part) => part !== '').join(', ');
}

const enableCommand = (cli: Cli) =>
  command(cli, 'enable', 'Enable a webhook. It continues after the last message that was accepted.')
    .argument('<id>', ID_HELP)
    .examples('memory-service webhooks enable wh_0123456789ab')
    .run(async ({ caller }, id: string) => {
      await caller.call(updateWebhook, { params: { webhook: id }, body: { enabled: true } });
      return `Enabled webhook ${id}.`;
    });

const disableCommand = (cli: Cli) =>
  command(cli, 'disable', 'Disable a webhook. It keeps its position.')
    .argument('<id>', ID_HELP)
    .examples('memory-service webhooks disable wh_0123456789ab')
    .run(async ({ caller }, id: string) => {
      await caller.call(updateWebhook, { params: { webhook: id }, body: { enabled: false } });
      return `Disabled webhook ${id}.`;
    });

const deleteCommand = (cli: Cli) =>
  command(cli, 'delete', 'Delete a webhook.')
    .argument('<id>', ID_HELP)
    .examples('memory-service webhooks delete wh_0123456789ab')
    .run(async ({ caller }, id: string) => {
      await caller.call(deleteWebhook, { params: { webhook: id } });
      return `Deleted webhook ${id}.`;
    });

const testCommand = (cli: Cli) =>
  command(cli, 'test', 'Send a test message now. Fails if it was not accepted.')
    .argument('<id>', ID_HELP)
    .examples('memory-service webhooks test wh_0123456789ab')
    .run(async ({ caller }, id: string) => {
      const { status, error, duration_ms: ms } = await caller.call(testWebhook, { params: { webhook: id } });
      const response = status === null ? 'no response' : `status ${status}`;
      if (error !== null)
        throw new OperatorError(`The test message was not accepted: ${error}, ${response}, after ${ms} ms.`);
      return `The test message was accepted with ${response}, after ${ms} ms.`;
    });

const rotateCommand = (cli: Cli) =>
  command(cli, 'rotate', 'Give a webhook a new secret and print it.')
    .argument('<id>', ID_HELP)
    .addOption(
      new Option('--overlap <duration>', 'time for which the previous secret also signs: 0s, 1h, 7d')
        .argParser(parseOverlap)
        .default(24 * 60 * 60, '1d'),
    )
    .option('--json', 'print JSON')
    .examples('memory-service webhooks rotate wh_0123456789ab --overlap 1h')
    .run(async ({ caller }, id: string, { overlap: seconds }: { overlap: number }) => {
      const body = { overlap_seconds: seconds };
      const rotated = await caller.call(rotateWebhookSecret, { params: { webhook: id }, body });
      const note = `Rotated the secret of ${id}. The new one cannot be shown again:`;
      return { json: rotated, note, text: rotated.secret };
    });

const redeliverCommand = (cli: Cli) =>
  command(cli, 'redeliver', 'Deliver the changes since a time again, or skip those before it.')
    .argument('<id>', ID_HELP)
    .requiredOption('--since <time>', 'time of the first change', timeArgument)
    .addHelpText('after', TIME_HELP)
    .examples('memory-service webhooks redeliver wh_0123456789ab --since 2h')
    .run(async ({ caller }, id: string, { since }: { since: string }) => {
      await caller.call(redeliverWebhook, { params: { webhook: id }, body: { since } });
      return `Webhook ${id} continues with the first change since ${since}.`;
    });

const deliveriesCommand = (cli: Cli) =>
  command(cli, 'deliveries', 'List the attempts to deliver messages, newest first, for up to 7 days.')
    .argument('<id>', ID_HELP)
    .option('--limit <n>', 'maximum number of attempts', positiveInteger)
    .option('--json', 'print JSON')
    .examples('memory-service webhooks deliveries wh_0123456789ab --limit 10')
    .run(async ({ caller }, id: string, { limit = 50 }: { limit?: number }) => {
      const params = { webhook: id };
      const query = { limit: Math.min(limit, 200) };
      const list = await readList(
        caller,
        listWebhookDeliveries,
        { params, query },
        (page) => page.deliveries,
        limit,
      );
      const text = table(list, {
        TIME: (delivery) => time(delivery.at),
        RESULT: (delivery) => delivery.error ?? 'accepted',
        STATUS: (delivery) => delivery.status,
        MS: (delivery) => delivery.duration_ms,
        TYPE: (delivery) => delivery.type,
        TENANT: (delivery) => delivery.tenant,
        MESSAGE: (delivery) => delivery.message_id,
      });
      return { json: list, text };
    });

export const webhookCommands = group('webhooks', 'Send changes to HTTP endpoints.', [
  createCommand,
  listCommand,
  enableCommand,
  disableCommand,
  testCommand,
  deliveriesCommand,
  redeliverCommand,
  rotateCommand,
  deleteCommand,
]);
