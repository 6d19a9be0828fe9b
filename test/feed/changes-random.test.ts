/**
 * Readers of the changes during random writes. The variable HISTORIES sets the number of random histories.
 *
 * @module-tag long-on-pglite
 */
import { expect, it } from 'vitest';
import { hasReason } from '../../src/core/errors/errors.ts';
import { eraseVersion } from '../../src/core/history/redact.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import { closeDraft } from '../../src/features/drafts/close.ts';
import { Changes, type Cursor } from '../../src/features/feed/changes.ts';
import { Drafting } from '../support/drafting.ts';
import { createRandom, type Random } from '../support/random.ts';
import { restore } from '../support/restore-run.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { describeService, freshTenant, type Service, startService } from '../support/test-service.ts';

const IS_LONG = process.env.TEST_SET === 'long';
const HISTORIES = Number(process.env.HISTORIES ?? (IS_LONG ? 60 : 4));
const STEPS = 40;
const ORIGIN = { actor: { type: 'operator', name: 'ada' } } as const;

const FILE_CHANGES: ReadonlySet<string> = new Set(['created', 'modified', 'renamed', 'deleted', 'restored']);

/** Reads the changes in pages of random sizes, and remembers them. */
class Reader {
  readonly seen: string[] = [];
  readonly #service: Service;
  readonly #tenant: string;
  #cursor: Cursor | undefined;

  constructor(service: Service, tenant: string) {
    this.#service = service;
    this.#tenant = tenant;
  }

  async readAll(random: Random): Promise<void> {
    const changes = new Changes(this.#service.database);
    this.#cursor ??= await changes.begin(this.#tenant, 'history');
    for (let hasMore = true; hasMore; ) {
      const page = await changes.page(this.#tenant, this.#cursor, { limit: 1 + random.below(7) });
      for (const { type, cursor } of page.events)
        this.seen.push(`${FILE_CHANGES.has(type) ? 'version' : type} ${cursor.id}`);
      this.#cursor = page.cursor;
      ({ hasMore } = page);
    }
  }
}

/** Returns all changes in the history, in order. */
async function allChanges({ query }: Service, tenant: string): Promise<string[]> {
  const rows = await query(
    `SELECT 'version ' || id AS change, created_at AS at, id FROM memory_versions WHERE tenant_id = $1::text
     UNION ALL
     SELECT 'redacted ' || id, redacted_at, id FROM memory_versions
     WHERE tenant_id = $1::text AND redacted_at IS NOT NULL
     UNION ALL
     SELECT type || ' ' || id, at, id FROM tenant_events WHERE tenant_id = $1::text AND NOT fleet_only
     ORDER BY at, id`,
    [tenant],
  );
  return rows.map(({ change }) => String(change));
}

const lastChange = async ({ query }: Service, tenant: string): Promise<string> => {
  const [row] = await query(
    `SELECT to_char(last_change_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
     FROM tenants WHERE id = $1::text`,
    [tenant],
  );
  return String(row?.at);
};

async function restoreUnlessRedacted(service: Service, tenant: string, at: string): Promise<void> {
  await restore(service, tenant, at).catch((error) => {
    if (!hasReason(error, 'version_redacted')) throw error;
  });
}

async function redactOne({ database, query }: Service, tenant: string, random: Random): Promise<void> {
  const rows = await query(
    `SELECT id FROM versions AS v WHERE tenant_id = $1::text AND NOT EXISTS (
       SELECT FROM entries AS e WHERE e.tenant_id = v.tenant_id AND e.memory_id = v.memory_id
         AND memory_sha256(e.content) = v.content_sha256
     ) ORDER BY id`,
    [tenant],
  );
  if (rows.length > 0) await eraseVersion(database, tenant, String(random.of(rows).id), ORIGIN);
}

async function suspendAndResume({ database }: Service, tenant: string): Promise<void> {
  for (const suspended of [true, false]) await new Tenants(database).suspend(tenant, suspended);
}

describeService('readers of random changes', (service) => {
  const drafting = new Drafting(service);

  /** Creates a draft, and merges it, rejects it, or leaves it open. */
  async function openDraft(tenant: string, random: Random): Promise<void> {
    const draft = await drafting.create(tenant);
    const end = random.below(3);
    if (end === 0) await drafting.merge(draft);
    const ids = { tenant, draft: draft.id };
    if (end === 1) await closeDraft(service().database, ids, { state: 'rejected', by: ORIGIN.actor });
  }

  it.each(Array.from({ length: HISTORIES }, (_, i) => i + 1))(
    'see each change once and in order, history %i',
    async (seed) => {
      const random = createRandom(seed * 7919);
      const tenant = freshTenant();
      const path = () => `/memories/d${random.below(3)}/f${random.below(5)}`;
      const readers = [new Reader(service(), tenant), new Reader(service(), tenant)];
      const times: string[] = [];
      await service().execute(cmd.create('/memories/first', 'x'), { tenant });
      for (let step = 0; step < STEPS; step++) {
        times.push(await lastChange(service(), tenant));
        const kind = random.below(12);
        if (kind === 0) await restoreUnlessRedacted(service(), tenant, random.of(times));
        else if (kind === 1) await redactOne(service(), tenant, random);
        else if (kind === 2) await suspendAndResume(service(), tenant);
        else if (kind === 3) await openDraft(tenant, random);
        else {
          const input = random.of([
            cmd.create(path(), `a${step}`),
            cmd.create(path(), `a${step}`),
            cmd.replace(path(), 'a', 'b'),
            cmd.insert(path(), 0, 'a'),
            cmd.rename(path(), path()),
            cmd.rename(`/memories/d${random.below(3)}`, `/memories/d${random.below(3)}`),
            cmd.delete(path()),
            cmd.delete(`/memories/d${random.below(3)}`),
          ]);
          await service().execute(input, { tenant });
        }
        if (random.below(3) === 0) await readers[0]?.readAll(random);
      }
      const expected = await allChanges(service(), tenant);
      expect(expected.length).toBeGreaterThan(5);
      for (const reader of readers) {
        await reader.readAll(random);
        expect(reader.seen).toStrictEqual(expected);
      }
    },
    60_000,
  );
});

it('see each concurrent change of two replicas once and in order', async () => {
  const own = await createTestDatabase();
  const replicas = await Promise.all([1, 2].map(() => startService('postgres', { DATABASE_URL: own.url })));
  const [first, second] = replicas as [Service, Service];
  try {
    const tenant = 'default';
    await first.execute(cmd.create('/memories/first', ''));
    const reader = new Reader(second, tenant);
    const random = createRandom(1);
    let isWriting = true;
    const reading = (async () => {
      while (isWriting) await reader.readAll(random);
      await reader.readAll(random);
    })();
    const inputs = Array.from({ length: 150 }, (_, i) => [
      cmd.create(`/memories/n${i % 30}`, 'x'),
      cmd.insert(`/memories/n${(i + 7) % 30}`, 0, 'y\n'),
      cmd.rename(`/memories/n${(i + 3) % 30}`, `/memories/m${i}`),
    ]).flat();
    await Promise.all(inputs.map((input, i) => (i % 2 === 0 ? first : second).execute(input)));
    isWriting = false;
    await reading;
    expect(reader.seen.length).toBeGreaterThan(30);
    expect(reader.seen).toStrictEqual(await allChanges(first, tenant));
  } finally {
    await Promise.all(replicas.map((each) => each.close()));
    await own.drop();
  }
});
