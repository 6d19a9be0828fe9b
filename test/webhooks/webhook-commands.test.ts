/**
 * `memory-service webhooks`.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { run } from '../support/restore-run.ts';
import { runCli } from '../support/run-cli.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';
import { isSignedWith, startReceiver, status } from './test-receiver.ts';

describeService('the command webhooks', (service) => {
  const webhooks = async (...args: string[]) => {
    const env = { WEBHOOK_ALLOWED_ADDRESSES: '127.0.0.1' };
    const { stdout, stderr, error } = await runCli(service(), ['webhooks', ...args], { env });
    return { stdout: stdout.toString(), stderr, error };
  };

  it('creates, tests, rotates, redelivers, disables, and deletes a webhook', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/a', 'one'));
    const receiver = await startReceiver();
    const created = await webhooks(
      'create',
      receiver.url,
      '--tenant',
      tenant,
      '--type',
      'created',
      '--content',
    );
    const id = /wh_\w+/.exec(created.stderr)?.[0] ?? '';
    expect(created.stderr).toBe(`Created webhook ${id}. Its secret cannot be shown again:\n`);
    expect((await webhooks('test', id)).stdout).toMatch(
      /^The test message was accepted with status 204, after \d+ ms\.\n$/,
    );
    expect(receiver.messages.every((message) => isSignedWith(created.stdout.trim(), message))).toBe(true);
    const rotated = await webhooks('rotate', id, '--overlap', '0s');
    expect(rotated.stderr).toBe(`Rotated the secret of ${id}. The new one cannot be shown again:\n`);
    receiver.respond = status(500);
    const failed = await webhooks('test', id);
    expect(failed.error).toMatch(/^The test message was not accepted: rejected, status 500, after \d+ ms\.$/);
    expect(isSignedWith(rotated.stdout.trim(), receiver.messages[1] as never)).toBe(true);
    expect((await webhooks('redeliver', id, '--since', '0s')).stdout).toBe(
      `Webhook ${id} continues with the first change since 0s.\n`,
    );
    expect((await webhooks('disable', id)).stdout).toBe(`Disabled webhook ${id}.\n`);
    expect((await webhooks('list', '--tenant', tenant)).stdout).toMatch(
      new RegExp(`^ID.*\n${id} +${tenant} +disabled: by_operator +${receiver.url} +created, with contents +`),
    );
    expect((await webhooks('enable', id)).stdout).toBe(`Enabled webhook ${id}.\n`);
    const list = await webhooks('deliveries', id);
    expect(list.stdout).toMatch(/rejected +500 +\d+ +webhook\.test/);
    expect((await webhooks('delete', id)).stdout).toBe(`Deleted webhook ${id}.\n`);
    expect((await webhooks('delete', id)).error).toBe(`Webhook ${id} does not exist.`);
  });
});
