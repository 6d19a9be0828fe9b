import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { FoundKeyRow } from './key-queries.ts';
import { hashKey, newApiKey } from './keys.ts';
import { KnownKeys } from './known-keys.ts';
import { createLookupLimiter } from './request-limiter.ts';

const { key, hash, id } = newApiKey();
const credentials = { headers: { authorization: `Bearer ${key}` }, ip: '192.0.2.1' };
const row: FoundKeyRow = {
  id,
  label: '',
  source: '',
  tenant: 'acme',
  tenantCreatedAt: '2026-01-01T00:00:00.000000Z',
  isAdmin: false,
  managesStores: false,
  canShare: false,
  access: 'read_write',
  onlyTenants: null,
  rights: null,
  isRevoked: false,
  expiresInMs: null,
  usedMsAgo: null,
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Creates a `KnownKeys` whose database has one key. */
function stored(found: FoundKeyRow) {
  const uses: string[][] = [];
  const noteUse = async (hashes: string[]) => {
    uses.push(hashes);
  };
  const lookups = createLookupLimiter(60_000);
  const known = new KnownKeys(
    { find: async () => found, noteUse },
    { cacheSeconds: 1000, failuresPerMinute: 0, lookups },
  );
  return { known, uses };
}

it("records a key's first use within a second, but another use only after five minutes", async () => {
  const { known, uses } = stored(row);
  await known.identify(credentials);
  await vi.advanceTimersByTimeAsync(999);
  expect(uses).toStrictEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(uses).toStrictEqual([[hash]]);
  await vi.advanceTimersByTimeAsync(5 * 60_000 - 1001);
  await known.identify(credentials);
  await vi.advanceTimersByTimeAsync(1001);
  expect(uses).toStrictEqual([[hash]]);
  await known.identify(credentials);
  await known.close();
  expect(uses).toStrictEqual([[hash], [hashKey(key)]]);
});

it('rejects a revoked key when its cached lookup is older than cacheSeconds', async () => {
  // The cache captured the real `performance` when it was imported.
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const clock = vi.spyOn(performance, 'now');
  const setTime = async (ms: number) => {
    clock.mockReturnValue(ms);
    // The cache reuses a clock reading for a millisecond.
    await vi.advanceTimersByTimeAsync(1);
  };
  const found = { ...row };
  const { known } = stored(found);
  await setTime(5000);
  await known.identify(credentials);
  found.isRevoked = true;
  await setTime(1_005_000);
  expect(await known.identify(credentials)).toMatchObject({ id });
  await setTime(1_005_001);
  await expect(async () => known.identify(credentials)).rejects.toMatchObject({ code: 'unauthorized' });
});

it('identifies the key separately for each request on a connection', async () => {
  const other = newApiKey();
  const ids = new Map([
    [hash, id],
    [other.hash, other.id],
  ]);
  const known = new KnownKeys(
    {
      find: async (given) => (ids.has(given) ? { ...row, id: ids.get(given) ?? '' } : undefined),
      noteUse: async () => {},
    },
    { cacheSeconds: 1000, failuresPerMinute: 0, lookups: createLookupLimiter(60_000) },
  );
  const socket = {};
  const identified = async (token: string) =>
    (await known.identify({ headers: { authorization: `Bearer ${token}` }, ip: '192.0.2.1', socket })).id;
  expect([await identified(key), await identified(other.key), await identified(key)]).toStrictEqual([
    id,
    other.id,
    id,
  ]);
  await expect(async () => identified(`${key.slice(0, -1)}_`)).rejects.toMatchObject({
    code: 'unauthorized',
  });
});
