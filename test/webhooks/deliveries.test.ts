/**
 * Deliveries to webhook endpoints.
 *
 * @module-tag long-on-pglite
 */
import { afterEach, beforeAll, expect, it, vi } from 'vitest';
import { FleetLog } from '../../src/features/feed/fleet-log.ts';
import { pruneDeliveries } from '../../src/features/webhooks/prune-deliveries.ts';
import { Sender, type SenderOptions } from '../../src/features/webhooks/sender.ts';
import { makeKey, useAdmin } from '../support/admin.ts';
import { run } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { describeServiceOnOwnDatabase, freshTenant } from '../support/test-service.ts';
import { isSignedWith, startReceiver, status, type TestReceiver } from './test-receiver.ts';

const A = '/memories/a.md';
const B = '/memories/b.md';
const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;

interface Webhook {
  id: string;
  secret: string;
}

describeServiceOnOwnDatabase('webhook deliveries', (service) => {
  const admin = useAdmin(service, { WEBHOOK_ALLOWED_ADDRESSES: '127.0.0.0/8' });
  afterEach(() => service().query('DELETE FROM webhooks'));
  beforeAll(async () => {
    const log = new FleetLog(service().database);
    await log.maintain(7);
    // The log begins after the transactions that run now, also of other tests.
    await vi.waitFor(async () => expect(await log.latest()).toBeDefined(), { timeout: 60_000 });
  });

  const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => {
    const response = await admin().call(method, path, body === undefined ? {} : { body });
    expect([response.status, response.body]).toMatchObject([expect.toSatisfy((code) => code < 300), {}]);
    return response.body;
  };
  const create = async (receiver: TestReceiver, options: object = {}) =>
    (await call('POST', '/webhooks', { url: receiver.url, ...options })) as unknown as Webhook;
  /** A tenant with one file. */
  const newTenant = async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create('/memories/old.md', 'old'));
    return tenant;
  };
  /** Returns a sender whose clock is the database's clock with an offset in milliseconds. */
  const newSender = (options: Partial<SenderOptions> & { offset?: () => number } = {}) => {
    const { offset = () => 0, ...rest } = options;
    return new Sender(service().database, {
      allowed: ['127.0.0.0/8'],
      clock: async () => new Date(Date.now() + offset()),
      onFault: (_, error) => {
        throw error;
      },
      ...rest,
    });
  };
  /** Delivers until no endpoint is due. Idle and failing endpoints are due again after `hours`. */
  const send = async (hours = 0, options: Partial<SenderOptions> = {}) => {
    const sender = newSender({ offset: () => hours * HOUR, ...options });
    await sender.run();
  };
  const deliveries = async ({ id }: Webhook) => {
    const { deliveries: list } = await call('GET', `/webhooks/${id}/deliveries`);
    return (list as { type: string; status: number; error: string }[]).map(
      ({ type, status: code, error }) => `${type} ${code} ${error}`,
    );
  };

  it("delivers a tenant's events in order, signed, without contents", async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const webhook = await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'), cmd.replace(A, 'one', 'two'), cmd.rename(A, B));
    await run(service(), await newTenant(), cmd.create(A, 'other'));
    await send();
    expect(receiver.texts()).toStrictEqual([`file.created ${A}`, `file.modified ${A}`, `file.renamed ${B}`]);
    expect(receiver.messages.every((message) => isSignedWith(webhook.secret, message))).toBe(true);
    expect(receiver.messages.every(({ payload }) => !('content' in payload.data))).toBe(true);
    expect(receiver.messages[0]?.headers['content-type']).toBe('application/json');
    expect(receiver.messages[0]?.payload).toMatchObject({
      type: 'file.created',
      timestamp: expect.any(String),
      data: { tenant, type: 'created', version: { path: A } },
    });
    await send(1);
    expect(receiver.messages).toHaveLength(3);
    expect(await deliveries(webhook)).toStrictEqual([
      'file.renamed 204 null',
      'file.modified 204 null',
      'file.created 204 null',
    ]);
  });

  it("delivers all tenants' events with contents, filtered by type and path", async () => {
    const receiver = await startReceiver();
    await create(receiver, { types: ['created'], path: '/memories/d', content: true });
    const tenants = [await newTenant(), await newTenant()];
    for (const tenant of tenants)
      await run(service(), tenant, cmd.create(A, 'no'), cmd.create('/memories/d/x', tenant));
    await expect
      .poll(async () => {
        await send(1);
        return receiver.messages.length;
      })
      .toBe(2);
    const contents = receiver.messages.map(({ payload: { data } }) => [data.tenant, data.content]);
    expect(contents.sort()).toStrictEqual(tenants.map((tenant) => [tenant, tenant]).sort());
  });

  it('delivers events of tenants and keys to an endpoint for all tenants', async () => {
    const receiver = await startReceiver();
    await create(receiver, { types: ['tenant_suspended', 'key_created'] });
    const tenant = await newTenant();
    await call('POST', `/tenants/${tenant}/suspend`);
    await call('POST', '/keys', { kind: 'tenant', tenant });
    await expect
      .poll(async () => {
        await send();
        return receiver.messages.map(({ payload: { type, data } }) => `${type} ${data.tenant}`);
      })
      .toStrictEqual([`tenant.suspended ${tenant}`, `key.created ${tenant}`]);
  });

  it('delivers alerts to an endpoint for all tenants', async () => {
    const receiver = await startReceiver();
    await create(receiver, { types: ['limit_near', 'job_ended'] });
    const tenant = await newTenant();
    await call('PATCH', `/tenants/${tenant}`, { settings: { max_files: 2, max_bytes: 3 } });
    await run(service(), tenant, cmd.create(A), cmd.delete(A), cmd.create(A));
    const job = await call('POST', '/find', { text: 'old', tenants: { ids: [tenant] } });
    await call('POST', `/jobs/${job.id}/cancel`);
    await expect
      .poll(async () => {
        await send();
        return receiver.messages.map(({ payload }) => payload.data);
      })
      .toMatchObject([
        { type: 'limit_near', tenant, limit: 'bytes', used_percent: 100 },
        { type: 'limit_near', tenant, limit: 'files', used_percent: 100 },
        { type: 'limit_near', tenant, limit: 'files', used_percent: 100 },
        { type: 'job_ended', tenant: null, job: { id: job.id, kind: 'find', state: 'cancelled' } },
      ]);
    expect(receiver.messages.map(({ payload }) => payload.type)).toStrictEqual([
      'limit.near',
      'limit.near',
      'limit.near',
      'job.ended',
    ]);
    expect(new Set(receiver.messages.map(({ headers }) => headers['webhook-id'])).size).toBe(4);
  });

  it('delivers to an idle endpoint when its tenant changes', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    await create(receiver, { tenant });
    const sender = newSender();
    await sender.run();
    await run(service(), tenant, cmd.create(A, 'one'));
    await expect
      .poll(async () => {
        await sender.run();
        return receiver.texts();
      })
      .toStrictEqual([`file.created ${A}`]);
  });

  it('repeats a rejected message with its ID, before all later messages', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver(status(500));
    const webhook = await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'), cmd.create(B, 'two'));
    await send();
    await send();
    expect(receiver.texts()).toStrictEqual([`file.created ${A}`]);
    expect(await call('GET', `/webhooks/${webhook.id}`)).toMatchObject({
      enabled: true,
      failing_since: expect.any(String),
      next_attempt_at: expect.any(String),
    });
    receiver.respond = (response, { payload }) =>
      response.writeHead(payload.data.version.path === B ? 503 : 200).end();
    await send(1);
    receiver.respond = status(200);
    await send(2);
    expect(receiver.texts()).toStrictEqual([A, A, B, B].map((path) => `file.created ${path}`));
    const ids = receiver.messages.map(({ id }) => id);
    expect([ids[0], ids[2]]).toStrictEqual([ids[1], ids[3]]);
    expect(await call('GET', `/webhooks/${webhook.id}`)).toMatchObject({ failing_since: null });
    expect(await deliveries(webhook)).toStrictEqual([
      'file.created 200 null',
      'file.created 503 rejected',
      'file.created 200 null',
      'file.created 500 rejected',
    ]);
  });

  it('waits as long as the receiver asks', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver(status(429, { 'retry-after': '7200' }));
    await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'));
    await send();
    await send(1);
    expect(receiver.messages).toHaveLength(1);
    await send(3);
    expect(receiver.messages).toHaveLength(2);
  });

  it('disables an endpoint that fails for three days, and continues after it is enabled', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver(status(500));
    const webhook = await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'), cmd.create(B, 'two'));
    const disabled: string[] = [];
    const options = {
      onDisabled: ({ id }: { id: string }, reason: string) => disabled.push(`${id} ${reason}`),
    };
    for (let hours = 0; hours < 71; hours += 6) await send(hours, options);
    expect(disabled).toStrictEqual([]);
    await send((3 * DAY) / HOUR + 1, options);
    expect(disabled).toStrictEqual([`${webhook.id} failing`]);
    expect(await call('GET', `/webhooks/${webhook.id}`)).toMatchObject({
      enabled: false,
      disabled_reason: 'failing',
      next_attempt_at: null,
    });
    const attempts = receiver.messages.length;
    await send(100, options);
    expect(receiver.messages).toHaveLength(attempts);
    receiver.respond = status(200);
    await call('PATCH', `/webhooks/${webhook.id}`, { enabled: true });
    await send();
    expect(receiver.texts().slice(attempts)).toStrictEqual([`file.created ${A}`, `file.created ${B}`]);
  });

  it('disables an endpoint whose response is 410', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver(status(410));
    const webhook = await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'));
    await send();
    expect(await call('GET', `/webhooks/${webhook.id}`)).toMatchObject({ disabled_reason: 'gone' });
  });

  it('changes a disabled endpoint without enabling it', async () => {
    const tenant = await newTenant();
    const [receiver, other] = [await startReceiver(status(410)), await startReceiver()];
    const { id } = await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'));
    await send();
    const disabled = { enabled: false, disabled_reason: 'gone' };
    expect(await call('PATCH', `/webhooks/${id}`, { url: other.url })).toMatchObject(disabled);
    expect(await call('PATCH', `/webhooks/${id}`, { enabled: false })).toMatchObject(disabled);
    await send(1);
    expect(other.messages).toStrictEqual([]);
    const enabled = { enabled: true, disabled_reason: null, failing_since: null };
    expect(await call('PATCH', `/webhooks/${id}`, { enabled: true })).toMatchObject(enabled);
    await send();
    expect(other.texts()).toStrictEqual([`file.created ${A}`]);
  });

  it('keeps the time of the next attempt when a failing endpoint is changed, until it is enabled', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver(status(500));
    const webhook = await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'));
    await send();
    const failing = await call('GET', `/webhooks/${webhook.id}`);
    const changed = await call('PATCH', `/webhooks/${webhook.id}`, { content: true });
    expect(changed).toStrictEqual({ ...failing, content: true });
    await send();
    expect(receiver.messages).toHaveLength(1);
    await call('PATCH', `/webhooks/${webhook.id}`, { enabled: true });
    await send();
    expect(receiver.messages.map(({ payload }) => payload.data.content)).toStrictEqual([undefined, 'one']);
  });

  it('ends an attempt without a response after a time, while other endpoints receive their messages', async () => {
    const tenant = await newTenant();
    const [hanging, other] = [await startReceiver(() => {}), await startReceiver()];
    const webhook = await create(hanging, { tenant });
    await create(other, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'));
    await send(0, { timeoutMs: 100 });
    expect(await deliveries(webhook)).toStrictEqual(['file.created null timeout']);
    expect(other.texts()).toStrictEqual([`file.created ${A}`]);
  });

  it('aborts an attempt when the replica stops, and another replica continues', async () => {
    const tenant = await newTenant();
    let end = () => {};
    const isReceived = new Promise<void>((resolve) => {
      end = resolve;
    });
    const receiver = await startReceiver(() => end());
    const webhook = await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'));
    const stopped = newSender();
    const running = stopped.run();
    await isReceived;
    await stopped.stop();
    await running;
    receiver.respond = status(200);
    await send();
    expect(receiver.texts()).toStrictEqual([`file.created ${A}`, `file.created ${A}`]);
    expect(await deliveries(webhook)).toStrictEqual(['file.created 200 null']);
  });

  it('continues after the lease of a replica that was killed', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const webhook = await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'));
    await service().query(
      "UPDATE webhooks SET holder = 'killed', lease_until = now() + interval '1 minute' WHERE id = $1",
      [webhook.id],
    );
    await send();
    expect(receiver.messages).toStrictEqual([]);
    await send(1);
    expect(receiver.texts()).toStrictEqual([`file.created ${A}`]);
  });

  it('delivers each message once with several replicas, one message at a time', async () => {
    const tenant = await newTenant();
    let [open, most] = [0, 0];
    const receiver = await startReceiver((response) => {
      open++;
      most = Math.max(most, open);
      setImmediate(() => {
        open--;
        response.writeHead(200).end();
      });
    });
    await create(receiver, { tenant });
    const paths = Array.from({ length: 120 }, (_, i) => `/memories/f${i}.md`);
    await run(service(), tenant, ...paths.map((path) => cmd.create(path, 'x')));
    const senders = [newSender(), newSender(), newSender()];
    await expect
      .poll(async () => {
        await Promise.all(senders.map((sender) => sender.run()));
        return receiver.messages.length;
      })
      .toBe(120);
    expect(receiver.texts()).toStrictEqual(paths.map((path) => `file.created ${path}`));
    expect(most).toBe(1);
  });

  it('signs with the previous secret too until the overlap ends', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const webhook = await create(receiver, { tenant });
    const first = await call('POST', `/webhooks/${webhook.id}/rotate`, { overlap_seconds: 3600 });
    await run(service(), tenant, cmd.create(A, 'one'));
    await send();
    const second = await call('POST', `/webhooks/${webhook.id}/rotate`, { overlap_seconds: 0 });
    await run(service(), tenant, cmd.create(B, 'two'));
    await send(1);
    const secrets = [webhook.secret, String(first.secret), String(second.secret)];
    expect(
      receiver.messages.map((message) => secrets.map((secret) => isSignedWith(secret, message))),
    ).toStrictEqual([
      [true, true, false],
      [false, false, true],
    ]);
  });

  it('delivers again from a time, with the same IDs', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const webhook = await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'), cmd.create(B, 'two'));
    await send();
    const since = receiver.messages[1]?.payload.timestamp;
    await call('POST', `/webhooks/${webhook.id}/redeliver`, { since });
    await send();
    expect(receiver.texts()).toStrictEqual([A, B, B].map((path) => `file.created ${path}`));
    expect(receiver.messages[2]?.id).toBe(receiver.messages[1]?.id);
    const early = await admin().call('POST', `/webhooks/${webhook.id}/redeliver`, {
      body: { since: '2020-01-01T00:00:00Z' },
    });
    expect(early).toMatchObject({ status: 409, body: { code: 'history_incomplete' } });
  });

  it("delivers all tenants' events again from a time", async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const webhook = await create(receiver, { path: '/memories/again' });
    await run(service(), tenant, cmd.create('/memories/again', 'one'));
    const receives = (count: number, hours: number) =>
      expect
        .poll(async () => {
          await send(hours);
          return receiver.messages.length;
        })
        .toBe(count);
    await receives(1, 1);
    await call('POST', `/webhooks/${webhook.id}/redeliver`, {
      since: receiver.messages[0]?.payload.timestamp,
    });
    await receives(2, 2);
    expect(receiver.messages[1]?.id).toBe(receiver.messages[0]?.id);
    const early = await admin().call('POST', `/webhooks/${webhook.id}/redeliver`, {
      body: { since: '2020-01-01T00:00:00Z' },
    });
    expect(early).toMatchObject({
      status: 409,
      body: { detail: expect.stringMatching(/^The log of all tenants' changes is complete only since 2/) },
    });
  });

  it('tells the receiver that changes were lost, and continues with later changes', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver(status(500));
    const webhook = await create(receiver, { tenant });
    await run(service(), tenant, cmd.create(A, 'one'));
    const [end] = await service().query(
      "SELECT (last_change_at + interval '1 microsecond')::text AS at FROM tenants WHERE id = $1",
      [tenant],
    );
    await service().query('UPDATE tenants SET history_since = $2::timestamptz WHERE id = $1', [
      tenant,
      end?.at,
    ]);
    await send();
    receiver.respond = status(200);
    await send(1);
    await run(service(), tenant, cmd.create(B, 'two'));
    await send(2);
    expect(receiver.texts()).toStrictEqual([
      'webhook.gap undefined',
      'webhook.gap undefined',
      `file.created ${B}`,
    ]);
    expect(receiver.messages[1]?.id).toBe(receiver.messages[0]?.id);
    expect(receiver.messages[0]?.payload.data).toStrictEqual({
      webhook: webhook.id,
      tenant,
      detail: 'Changes were lost, because they are no longer in the history. Read all files once.',
    });
    expect(await call('GET', `/webhooks/${webhook.id}`)).toMatchObject({ gap_at: expect.any(String) });
  });

  it('fails for all tenants while the change log is off', async () => {
    const receiver = await startReceiver();
    const webhook = await create(receiver);
    const log = new FleetLog(service().database);
    await log.prune(0);
    await send();
    expect(await call('GET', `/webhooks/${webhook.id}`)).toMatchObject({ failing_since: expect.any(String) });
    expect(await admin().call('POST', '/webhooks', { body: { url: receiver.url } })).toMatchObject({
      status: 409,
    });
    await log.prune(7);
    await expect
      .poll(async () => {
        await send(24);
        return receiver.texts();
      })
      .toStrictEqual(['webhook.gap undefined']);
  });

  it('sends a test message, also to a disabled endpoint', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const webhook = await create(receiver, { tenant });
    await call('PATCH', `/webhooks/${webhook.id}`, { enabled: false });
    expect(await call('POST', `/webhooks/${webhook.id}/test`)).toStrictEqual({
      status: 204,
      error: null,
      duration_ms: expect.any(Number),
    });
    expect(receiver.messages[0]?.payload).toMatchObject({
      type: 'webhook.test',
      data: { webhook: webhook.id, detail: 'This message is a test.' },
    });
    expect(isSignedWith(webhook.secret, receiver.messages[0] as never)).toBe(true);
    receiver.respond = status(500);
    expect(await call('POST', `/webhooks/${webhook.id}/test`)).toMatchObject({
      status: 500,
      error: 'rejected',
    });
    expect(await deliveries(webhook)).toStrictEqual(['webhook.test 500 rejected', 'webhook.test 204 null']);
  });

  it('rejects redirects', async () => {
    const [target, receiver] = [await startReceiver(), await startReceiver()];
    receiver.respond = status(307, { location: target.url });
    const webhook = await create(receiver, { tenant: await newTenant() });
    expect(await call('POST', `/webhooks/${webhook.id}/test`)).toMatchObject({
      status: 307,
      error: 'redirected',
    });
    expect(target.messages).toStrictEqual([]);
  });

  it('keeps the last 1,000 deliveries of the last 7 days to endpoints that exist', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const webhook = await create(receiver, { tenant });
    await service().query(
      `INSERT INTO webhook_deliveries (webhook_id, at, id, message_id, type, duration_ms)
       SELECT $1, now() - n * interval '1 second', gen_random_uuid(), 'msg', 'file.created', 1
       FROM generate_series(1, 1200) AS n`,
      [webhook.id],
    );
    await call('POST', `/webhooks/${webhook.id}/test`);
    const count = async () =>
      (
        await service().query('SELECT count(*)::integer AS n FROM webhook_deliveries WHERE webhook_id = $1', [
          webhook.id,
        ])
      )[0]?.n;
    expect(await count()).toBe(1000);
    await pruneDeliveries(service().database);
    expect(await count()).toBe(1000);
    await pruneDeliveries(service().database, new Date(Date.now() + 8 * DAY));
    expect(await count()).toBe(0);
    await call('POST', `/webhooks/${webhook.id}/test`);
    await call('DELETE', `/webhooks/${webhook.id}`);
    await pruneDeliveries(service().database);
    expect(await count()).toBe(0);
  });

  it('limits a scoped key to the webhooks of its tenants', async () => {
    const [own, other] = [await newTenant(), await newTenant()];
    const receiver = await startReceiver();
    const [mine, theirs] = [
      await create(receiver, { tenant: own }),
      await create(receiver, { tenant: other }),
    ];
    const { key } = await makeKey(service(), { isAdmin: true, onlyTenants: [own] });
    const as = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object) =>
      admin().call(method, path, body === undefined ? { key } : { key, body });
    const { body } = await as('GET', '/webhooks');
    expect((body.webhooks as Webhook[]).map(({ id }) => id)).toStrictEqual([mine.id]);
    expect((await as('GET', `/webhooks/${theirs.id}`)).status).toBe(404);
    expect((await as('DELETE', `/webhooks/${theirs.id}`)).status).toBe(404);
    expect((await as('GET', `/webhooks?tenant=${other}`)).status).toBe(403);
    expect((await as('POST', '/webhooks', { url: receiver.url })).status).toBe(403);
    expect((await as('POST', '/webhooks', { url: receiver.url, tenant: other })).status).toBe(403);
    const created = await as('POST', '/webhooks', { url: receiver.url, tenant: own });
    expect(created).toMatchObject({ status: 201, body: { tenant: own } });
    const { key: reader } = await makeKey(service(), { isAdmin: true, access: 'operate' });
    const change = { key: reader, body: { enabled: false } };
    expect((await admin().call('PATCH', `/webhooks/${mine.id}`, change)).status).toBe(403);
  });

  it('shows a secret only when it is made, and keeps URLs out of the audit trail', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const { secret, id } = await create({ ...receiver, url: `${receiver.url}?token=planted` }, { tenant });
    await call('PATCH', `/webhooks/${id}`, { url: receiver.url, path: '/memories/private' });
    const shown = [
      await call('GET', `/webhooks/${id}`),
      await call('GET', `/webhooks?tenant=${tenant}`),
      await call('GET', `/audit?tenant=${tenant}`),
    ];
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(JSON.stringify(shown)).not.toContain(secret.slice(6));
    expect(JSON.stringify(shown[2])).toContain(id);
    expect(JSON.stringify(shown[2])).not.toMatch(/planted|private/);
  });

  it('keeps the webhooks of a renamed tenant, and deletes a webhook with its tenant', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const { id } = await create(receiver, { tenant });
    const renamed = freshTenant('renamed');
    await call('POST', `/tenants/${tenant}/rename`, { to: renamed });
    expect(await call('GET', `/webhooks/${id}`)).toMatchObject({ tenant: renamed });
    await run(service(), renamed, cmd.create(A, 'one'));
    await send(1);
    expect(receiver.texts()).toStrictEqual(['tenant.renamed undefined', `file.created ${A}`]);
    await call('DELETE', `/tenants/${renamed}`);
    expect((await admin().call('GET', `/webhooks/${id}`)).status).toBe(404);
  });

  it('rejects invalid webhooks, and more than 20 for a tenant', async () => {
    const tenant = await newTenant();
    const receiver = await startReceiver();
    const post = async (body: object) => (await admin().call('POST', '/webhooks', { body })).body.detail;
    for (const url of ['ftp://example.com', 'https://user:secret@example.com', 'https://example.com/#a', 'x'])
      expect(await post({ url })).toBe(
        'The field url must be an http(s) URL without a user, a password, and a fragment.',
      );
    expect(await post({ url: receiver.url, tenant: 'missing' })).toBe('Tenant missing does not exist.');
    for (let i = 0; i < 20; i++) await create(receiver, { tenant });
    expect(await post({ url: receiver.url, tenant })).toBe(
      'There are already 20 such webhooks, the maximum. Delete one first.',
    );
  });
});

describeServiceOnOwnDatabase('a webhook without allowed private addresses', (service) => {
  const admin = useAdmin(service);

  it('rejects plain HTTP, and a private address', async () => {
    const tenant = freshTenant();
    await run(service(), tenant, cmd.create(A, 'one'));
    const http = await admin().call('POST', '/webhooks', { body: { url: 'http://127.0.0.1', tenant } });
    expect(http.body.detail).toBe(
      'The field url must begin with https://, unless WEBHOOK_ALLOWED_ADDRESSES permits private addresses.',
    );
    const { body } = await admin().call('POST', '/webhooks', { body: { url: 'https://127.1:9', tenant } });
    expect((await admin().call('POST', `/webhooks/${body.id}/test`)).body).toMatchObject({
      status: null,
      error: 'address_not_allowed',
    });
  });
});
