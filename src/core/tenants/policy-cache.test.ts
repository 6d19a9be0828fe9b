import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { TenantPolicyCache } from './policy-cache.ts';

const config = loadConfig({ MAX_QUEUE_MS: '60000' });
const stranger = { autoCreate: false, ip: '192.0.2.1' };

/** Creates a cache over nonexistent tenants, whose lookups the test completes. */
function slowTenants() {
  const lookups: (() => void)[] = [];
  const find = () => new Promise<undefined>((resolve) => lookups.push(() => resolve(undefined)));
  return { lookups, policies: new TenantPolicyCache({ find }, config) };
}

it('looks up 16 tenants at a time, and serves a client at another address before the queue is empty', async () => {
  const { lookups, policies } = slowTenants();
  const unknown = Array.from({ length: 100 }, async (_, i) => policies.policyFor(`unknown-${i}`, stranger));
  const rejected = Promise.allSettled(unknown);
  await setImmediate();
  expect(lookups).toHaveLength(16);
  let isFound = false;
  const other = Promise.resolve(policies.policyFor('other', { autoCreate: true, ip: '192.0.2.2' })).then(
    () => {
      isFound = true;
    },
  );
  for (let done = 0; !isFound; done++) {
    lookups[done]?.();
    await setImmediate();
    expect(done).toBeLessThan(20);
  }
  await other;
  for (let done = 0; done < lookups.length; done++) {
    lookups[done]?.();
    await setImmediate();
  }
  expect(new Set((await rejected).map(({ status }) => status))).toStrictEqual(new Set(['rejected']));
});

it('rejects lookups with 503 when 1,000 lookups are already waiting', async () => {
  const { lookups, policies } = slowTenants();
  const asked = Array.from({ length: 1017 }, async (_, i) => policies.policyFor(`unknown-${i}`, stranger));
  const all = Promise.allSettled(asked);
  await expect(asked[1016]).rejects.toMatchObject({ status: 503, code: 'overloaded' });
  for (let done = 0; done < lookups.length; done++) {
    lookups[done]?.();
    await setImmediate();
  }
  await all;
  expect(lookups).toHaveLength(1016);
});

it('looks up an unknown tenant once for concurrent requests, and again for later requests', async () => {
  const { lookups, policies } = slowTenants();
  for (const round of [1, 2]) {
    const asked = Array.from({ length: 100 }, async () => policies.policyFor('unknown', stranger));
    const all = Promise.allSettled(asked);
    await setImmediate();
    lookups.at(-1)?.();
    expect(new Set((await all).map(({ status }) => status))).toStrictEqual(new Set(['rejected']));
    expect(lookups).toHaveLength(round);
  }
});
