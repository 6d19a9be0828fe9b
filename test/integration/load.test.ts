/** Load that cannot be carried is refused at once; what is accepted is done. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, startService } from '../support/service.ts';
import { cmd } from '../support/table.ts';

describe('overload', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService('postgres', {
      MAX_IN_FLIGHT: '3',
      MAX_IN_FLIGHT_PER_TENANT: '2',
      MAX_IN_FLIGHT_BYTES: '1000',
    });
    for (const tenant of ['a', 'b', 'c', 'd'])
      await service.execute(cmd.create('/memories/f', 'x'), { tenant });
  });
  afterAll(() => service.close());

  /** Keeps the writes of tenants waiting until the returned function is called. */
  async function hold(...tenants: string[]) {
    await service.query('BEGIN');
    await service.query('SELECT 1 FROM tenants WHERE id = ANY ($1) FOR UPDATE', [tenants]);
    return () => service.query('ROLLBACK');
  }
  const write = (tenant: string, path: string) => service.execute(cmd.create(path, 'x'), { tenant });
  const inWork = async () =>
    /^memory_requests_in_work (\d+)$/m.exec((await service.app.inject('/metrics')).body)?.[1];
  const until = async (count: string) => {
    while ((await inWork()) !== count);
  };

  it('is refused with 503 and Retry-After, for one tenant with 429; accepted requests are done, and places come back', async () => {
    const release = await hold('a', 'b');
    const accepted = [write('a', '/memories/1'), write('a', '/memories/2')];
    await until('2');
    const tooMany = await write('a', '/memories/3');
    expect([tooMany.status, tooMany.body.code, tooMany.headers['retry-after']]).toStrictEqual([
      429,
      'too_many_at_once',
      '1',
    ]);
    accepted.push(write('b', '/memories/1'));
    await until('3');
    const shed = await write('c', '/memories/1');
    expect([shed.status, shed.body.code, shed.headers['retry-after']]).toStrictEqual([
      503,
      'overloaded',
      '1',
    ]);
    // What says how the service is goes on answering.
    expect((await service.app.inject('/healthz')).statusCode).toBe(200);
    await release();
    expect((await Promise.all(accepted)).map(({ content }) => content)).toStrictEqual([
      'File created successfully at: /memories/1',
      'File created successfully at: /memories/2',
      'File created successfully at: /memories/1',
    ]);
    expect(await inWork()).toBe('0');
    expect((await write('c', '/memories/1')).status).toBe(200);
  });

  it('is refused at the door, before Fastify sees it, with the same answer', async () => {
    const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
    const send = () =>
      fetch(`${url}/execute`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-tenant-id': 'c', 'x-request-id': 'at-the-door' },
        body: JSON.stringify(cmd.view('/memories/f')),
      });
    const responses = async () =>
      Number(
        /^http_responses_total\{route="\/execute",status="503"\} (\d+)$/m.exec(
          (await service.app.inject('/metrics')).body,
        )?.[1] ?? 0,
      );
    const before = await responses();
    const release = await hold('a', 'b');
    const accepted = [write('a', '/memories/4'), write('a', '/memories/5'), write('b', '/memories/4')];
    await until('3');
    const refused = await send();
    expect(refused.status).toBe(503);
    expect(Object.fromEntries(refused.headers)).toStrictEqual({
      'cache-control': 'no-store',
      connection: 'keep-alive',
      'content-length': '199',
      'content-type': 'application/problem+json',
      date: expect.any(String),
      'keep-alive': 'timeout=72',
      'retry-after': '1',
      'x-content-type-options': 'nosniff',
      'x-request-id': 'at-the-door',
    });
    expect(await refused.json()).toStrictEqual({
      type: 'about:blank',
      title: 'Service Unavailable',
      status: 503,
      code: 'overloaded',
      detail: 'The service has as many requests in work as it can take. Try again shortly.',
      request_id: 'at-the-door',
    });
    expect(await responses()).toBe(before + 1);
    // Other routes are served all the same.
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await release();
    await Promise.all(accepted);
    expect((await send()).status).toBe(200);
  });

  it('also by the bytes of the bodies; one body alone is let in whatever its size', async () => {
    const big = { ...cmd.create('/memories/big', 'x'.repeat(2000)) };
    expect((await service.execute(big, { tenant: 'd' })).content).toBe(
      'File created successfully at: /memories/big',
    );
    const release = await hold('a');
    const waiting = write('a', '/memories/held');
    await until('1');
    const shed = await service.execute({ ...big, path: '/memories/big2' }, { tenant: 'd' });
    expect([shed.status, shed.body.code]).toStrictEqual([503, 'overloaded']);
    await release();
    expect((await waiting).status).toBe(200);
  });

  it('places come back from requests that fail early', async () => {
    for (let i = 0; i < 5; i++) {
      expect((await service.execute('{', { tenant: 'a' })).status).toBe(400);
      expect((await service.execute(cmd.view('/memories'), { tenant: 'a b' })).status).toBe(400);
    }
    expect(await inWork()).toBe('0');
  });
});

it('a request that cannot be done in time is answered in time, and its retry gets the answer', async () => {
  const service = await startService('postgres', { HANDLER_TIMEOUT_MS: '300' });
  const url = await service.app.listen({ host: '127.0.0.1', port: 0 });
  // Over a socket: what happens to a request there when its body is read does not happen to an injected one.
  const send = async () => {
    const response = await fetch(`${url}/execute`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        type: 'tool_use',
        id: 'toolu_slow',
        name: 'memory',
        input: cmd.create('/memories/slow', 'x'),
      }),
    });
    return { status: response.status, ...((await response.json()) as { code?: string; content?: string }) };
  };
  await service.query(`INSERT INTO tenants (id) VALUES ('default')`);
  await service.query('BEGIN');
  await service.query(`SELECT 1 FROM tenants WHERE id = 'default' FOR UPDATE`);
  expect(await send()).toMatchObject({ status: 503, code: 'timeout' });
  await service.query('ROLLBACK');
  let answer = await send();
  while (answer.status === 503) answer = await send();
  expect(answer).toMatchObject({ status: 200, content: 'File created successfully at: /memories/slow' });
  await service.close();
});
