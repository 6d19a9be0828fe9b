import { afterEach, expect, it, vi } from 'vitest';
import { RateStore } from '../../src/plugins/rate-store.ts';

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

it('counts a tenant by windows of time, and each by itself', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const store = new RateStore();
  expect(count(store)).toStrictEqual({ current: 1, ttl: 60_000 });
  vi.advanceTimersByTime(20_000);
  expect(count(store.child())).toStrictEqual({ current: 2, ttl: 40_000 });
  expect(count(store, 'other').current).toBe(1);
  vi.advanceTimersByTime(40_000);
  expect(count(store)).toStrictEqual({ current: 1, ttl: 60_000 });
});

it('does not mind a clock that is set back', () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  const store = new RateStore();
  count(store);
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(60_000);
  expect(count(store).current).toBe(1);
});
