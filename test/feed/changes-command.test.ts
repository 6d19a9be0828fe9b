/**
 * `memory-service changes`, on the database and through the admin API.
 *
 * @module-tag long-on-pglite
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, it } from 'vitest';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { useAdmin } from '../support/admin.ts';
import { run as runCommands } from '../support/restore-run.ts';
import { runOn } from '../support/run-program.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

const A = '/memories/a.md';

describeService('the command changes', (service) => {
  const admin = useAdmin(service);
  let url: string;
  beforeAll(async () => {
    url = await admin().app.listen({ port: 0, host: '127.0.0.1' });
  });
  const run = (...args: string[]) => runOn(service(), ['changes', ...args]);
  const tenantWithChanges = async () => {
    const tenant = freshTenant();
    await runCommands(
      service(),
      tenant,
      cmd.create(A, 'one'),
      cmd.rename(A, '/memories/b.md'),
      cmd.delete('/memories/b.md'),
    );
    return tenant;
  };

  it('prints a line for each change, on the database and through the admin API', async () => {
    const tenant = await tenantWithChanges();
    const result = await run(tenant);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout.split('\n').map((line) => line.split(/ {2,}/).toSpliced(0, 2))).toStrictEqual([
      ['OPERATION', 'SIZE', 'BY', 'PATH'],
      ['tenant_created', '-', 'anonymous', tenant],
      ['created', '3 B', 'anonymous', A],
      ['renamed', '3 B', 'anonymous', `${A} -> /memories/b.md`],
      ['deleted', '-', 'anonymous', '/memories/b.md'],
      [],
    ]);
    const target = { url, key: admin().key.key };
    expect(await runOn(service(), ['changes', tenant], { admin: target })).toStrictEqual(result);
  });

  it('prints the changes after a cursor as JSON, with the contents', async () => {
    const tenant = await tenantWithChanges();
    const read = async (...args: string[]) =>
      (await run(tenant, '--json', ...args)).stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
    const events = await read('--content');
    expect(events).toMatchObject([
      { type: 'tenant_created', tenant },
      { type: 'created', tenant, content: 'one', version: { path: A } },
      { type: 'renamed', content: 'one' },
      { type: 'deleted', content: null },
    ]);
    expect(await read('--content', '--after', events[0].cursor)).toStrictEqual(events.slice(1));
    expect(await read('--type', 'deleted', '--type', 'created')).toMatchObject([
      { type: 'created' },
      { type: 'deleted' },
    ]);
    expect(await read('--path', A, '--by', 'anonymous')).toMatchObject([
      { type: 'created' },
      { type: 'renamed' },
    ]);
  });

  it('says that no change matches, and rejects arguments that are not valid', async () => {
    const tenant = await tenantWithChanges();
    expect(await run(tenant, '--after', 'now')).toStrictEqual({
      code: 0,
      stdout: '',
      stderr: 'No change matches.\n',
    });
    expect((await run(tenant, '--type', 'made')).stderr).toContain(
      "error: --type cannot be 'made'. Use one of created, modified, renamed, deleted, restored, redacted, tenant_created, tenant_suspended, tenant_resumed, tenant_deleted, tenant_renamed, limit_near, draft_opened, draft_merged, draft_rejected, share_created, share_ended, key_created, key_revoked, job_ended.",
    );
    expect((await run(tenant, '--content')).stderr).toContain('error: --content works only with --json');
    expect((await run(freshTenant())).code).toBe(1);
  });

  it('tells where to begin again when the cursor is older than the history', async () => {
    const tenant = await tenantWithChanges();
    const [first = ''] = (await run(tenant, '--json')).stdout.split('\n');
    await service().query("UPDATE tenants SET history_since = '2099-01-01T00:00:00Z' WHERE id = $1::text", [
      tenant,
    ]);
    expect(await run(tenant, '--after', JSON.parse(first).cursor)).toStrictEqual({
      code: 1,
      stdout: '',
      stderr: `memory-service: The position is before 2099-01-01T00:00:00.000000Z, where the history of tenant ${tenant} begins. Begin again with \`after=now\`, then read all files once. For example: memory-service changes ${tenant} --after now --follow\n`,
    });
  });

  it('follows the changes through a restart of the service until SIGINT', { tags: 'long' }, async () => {
    const tenant = freshTenant();
    await new Tenants(service().database).create(tenant);
    let requests = 0;
    let isDown = false;
    // A proxy, because the service itself runs in this process.
    const proxy = createServer(async (request, response) => {
      requests++;
      if (isDown) return void request.socket.destroy();
      const { statusCode, headers, body } = await admin().app.inject({
        url: request.url ?? '',
        headers: request.headers as Record<string, string>,
      });
      response.writeHead(statusCode, headers).end(body);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const listeners = process.listenerCount('SIGINT');
    const target = { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, key: admin().key.key };
    const following = runOn(service(), ['changes', tenant, '--follow', '--json'], { admin: target });
    const nextRequests = (count: number) => {
      const until = requests + count;
      return expect.poll(() => requests, { interval: 20 }).toBeGreaterThanOrEqual(until);
    };
    await nextRequests(1);
    await runCommands(service(), tenant, cmd.create(A, 'one'));
    await nextRequests(2);
    isDown = true;
    await runCommands(service(), tenant, cmd.replace(A, 'one', 'two'));
    await nextRequests(2);
    isDown = false;
    await nextRequests(2);
    process.emit('SIGINT');
    const { code, stdout, stderr } = await following;
    proxy.close();
    expect([code, stderr]).toStrictEqual([0, '']);
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events).toMatchObject([{ type: 'tenant_created' }, { type: 'created' }, { type: 'modified' }]);
    expect(process.listenerCount('SIGINT')).toBe(listeners);
  });
});
