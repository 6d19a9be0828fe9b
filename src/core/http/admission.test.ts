import { afterEach, expect, it, vi } from 'vitest';
import { RateStore } from './admission.ts';

afterEach(() => {
  vi.useRealTimers();
});

function count(store: RateStore, key = 'tenant'): { current: number; ttl: number } {
  let counted = { current: 0, ttl: 0 };
  store.incr(key, (_error, result) => {
    counted = result ?? counted;
  });
  return counted;
}

it("counts each tenant's requests separately in fixed time windows", () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const store = new RateStore();
  expect(count(store)).toStrictEqual({ current: 1, ttl: 60_000 });
  vi.advanceTimersByTime(20_000);
  expect(count(store.child())).toStrictEqual({ current: 2, ttl: 40_000 });
  expect(count(store, 'other').current).toBe(1);
  vi.advanceTimersByTime(40_000);
  expect(count(store)).toStrictEqual({ current: 1, ttl: 60_000 });
});

it('counts requests correctly when the system clock is set back', () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  const store = new RateStore();
  count(store);
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(60_000);
  expect(count(store).current).toBe(1);
});
