import { expect, it, vi } from 'vitest';
import { RequestLimiter } from '../tenants/request-limiter.ts';

const HOUR = 3_600_000;
const limiter = (limits: Partial<ConstructorParameters<typeof RequestLimiter>[0]> = {}) =>
  new RequestLimiter({ total: 2, perKey: 0, maxWaiting: 100, maxWaitMs: HOUR, ...limits });
const code = (promise: Promise<unknown> | undefined) =>
  Promise.resolve(promise).then(
    () => 'admitted',
    ({ code }) => code,
  );

it("serves the tenants in turn, and each tenant's requests in arrival order", async () => {
  const slots = limiter({ total: 1 });
  const order: string[] = [];
  let running = slots.slot('x');
  running.acquire(1);
  const waiting = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map(async (name) => {
    const slot = slots.slot(name.slice(0, 1));
    await slot.acquire(1);
    order.push(name);
    running = slot;
  });
  for (let i = 0; i < 6; i++) {
    running.release();
    await Promise.resolve();
    await Promise.resolve();
  }
  await Promise.all(waiting);
  expect(order).toStrictEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

it('serves other tenants while one is at its limit', async () => {
  const slots = limiter({ total: 3, perKey: 1 });
  slots.slot('a').acquire(1);
  const second = slots.slot('a').acquire(1);
  expect(second).toBeInstanceOf(Promise);
  await slots.slot('b').acquire(1);
  await slots.slot('c').acquire(1);
  expect(slots.current).toMatchObject({ inFlight: 3, waiting: 1 });
});

it('rejects a request that waits too long: 429 if its tenant is at its limit, 503 otherwise', async () => {
  const slots = limiter({ total: 2, perKey: 1, maxWaitMs: 1 });
  slots.slot('a').acquire(1);
  slots.slot('b').acquire(1);
  expect(await code(slots.slot('a').acquire(1))).toBe('too_many_at_once');
  expect(await code(slots.slot('c').acquire(1))).toBe('overloaded');
  expect(slots.current).toMatchObject({ inFlight: 2, waiting: 0 });
});

it("counts a request's waits together toward the maximum wait", async () => {
  vi.useFakeTimers();
  const slots = limiter({ total: 2, maxWaitMs: 1000 });
  const other = slots.slot('a');
  other.acquire(2);
  const slot = slots.slot('b');
  const first = code(slot.acquire(1));
  vi.advanceTimersByTime(600);
  other.releaseUnits(1);
  expect(await first).toBe('admitted');
  const second = code(slot.acquire(1));
  vi.advanceTimersByTime(400);
  expect(await second).toBe('overloaded');
  vi.useRealTimers();
});

it('evicts a request from a full queue to make room for a tenant with fewer waiting requests', async () => {
  const slots = limiter({ total: 1, maxWaiting: 3 });
  const running = slots.slot('x');
  running.acquire(1);
  const [first, second, third] = ['a', 'a', 'a'].map((tenant) => code(slots.slot(tenant).acquire(1)));
  expect(() => slots.slot('a').acquire(1)).toThrow('The service is at capacity.');
  const other = slots.slot('b').acquire(1);
  expect(await third).toBe('overloaded');
  expect(slots.current).toMatchObject({ inFlight: 1, waiting: 3 });
  running.release();
  expect(await first).toBe('admitted');
  expect([second, other]).not.toContain(undefined);
});

it('removes a released slot from the queue, and does not let the slot acquire units again', async () => {
  const slots = limiter({ total: 1 });
  const running = slots.slot('a');
  running.acquire(1);
  const gone = slots.slot('a');
  const waiting = code(gone.acquire(1));
  gone.release();
  expect(await waiting).toBe('client_gone');
  running.release();
  running.release();
  expect(slots.current).toMatchObject({ inFlight: 0, waiting: 0 });
  expect(() => running.acquire(1)).toThrow('The client closed the connection');
  running.add(1);
  expect(slots.current).toMatchObject({ inFlight: 0, waiting: 0 });
});

it('removes waiting work when its client disconnects, but completes work that has begun', async () => {
  const slots = limiter({ total: 1 });
  let end = () => {};
  const work = () =>
    new Promise<void>((resolve) => {
      end = resolve;
    });
  const gone = new AbortController();
  const running = slots.run('a', work, gone.signal);
  const waiting = code(slots.run('a', work, gone.signal));
  expect(slots.current).toMatchObject({ inFlight: 1, waiting: 1 });
  await Promise.resolve();
  gone.abort();
  expect(await waiting).toBe('client_gone');
  expect(slots.current).toMatchObject({ inFlight: 1, waiting: 0 });
  expect(await code(slots.run('a', work, gone.signal))).toBe('client_gone');
  end();
  await running;
  expect(slots.current).toMatchObject({ inFlight: 0, waiting: 0 });
});

it('admits other requests while a slot works without its units, and counts the units again afterward', async () => {
  const slots = limiter({ total: 1 });
  const slot = slots.slot('a');
  slot.acquire(1);
  const other = slots.slot('b');
  const waiting = code(other.acquire(1));
  const work = async () => {
    expect(await waiting).toBe('admitted');
    throw new Error('the work fails');
  };
  await expect(slot.runWithout(work)).rejects.toThrow('the work fails');
  expect(slots.current).toMatchObject({ inFlight: 2, slots: 2 });
  slot.release();
  other.release();
  expect(slots.current).toMatchObject({ inFlight: 0, slots: 0 });
});

it('admits a request over the total limit only alone, and before smaller requests that arrive later', async () => {
  const bytes = limiter({ total: 100 });
  const small = bytes.slot('a');
  small.acquire(10);
  const large = bytes.slot('b');
  const waiting = large.acquire(500);
  expect(waiting).toBeInstanceOf(Promise);
  const late = bytes.slot('c');
  const lateWaiting = late.acquire(10);
  expect(lateWaiting).toBeInstanceOf(Promise);
  small.release();
  await waiting;
  expect(bytes.current).toMatchObject({ inFlight: 500, waiting: 1 });
  large.release();
  await lateWaiting;
  expect(bytes.current).toMatchObject({ inFlight: 10, waiting: 0 });
});
