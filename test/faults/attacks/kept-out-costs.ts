/** Texts that are slow to compare with kept-out texts, and long lists that change, while other tenants work. */
import { setTimeout as delay } from 'node:timers/promises';
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { execute, openScene, type Scene } from './scene.ts';

/** A character whose compatibility form has 18 characters. */
const LONG_FORM = '\ufdfa'.repeat(2 ** 20 / 3);
const OWNERS = 10;
const ENTRIES = 9900;
const OTHERS = 4;
const MAX_MS = 1000;
const PAUSE_MS = 250;

const addEntries = `
INSERT INTO kept_out (id, tenant_id, hash, prefix, tokens, created_by, change)
SELECT gen_random_uuid(), 'owner-' || n % ${OWNERS}, decode(md5(n::text) || md5((-n)::text), 'hex'),
  (random() * 2e9)::integer, 4 + n % 8, '{}', (SELECT kept_out_changes + 1 FROM installation)
FROM generate_series(1, ${OWNERS * ENTRIES}) AS n`;

interface Customer {
  key: string;
  replica: Scene['replicas'][number];
}

async function customer(scene: Scene, tenant: string): Promise<Customer> {
  const [replica] = scene.replicas;
  if (replica === undefined) throw new Error('a scene has a replica');
  await scene.admin('POST', '/tenants', { id: tenant });
  return { replica, key: await scene.newKey({ tenant, access: 'read_write' }) };
}

/** Returns the 99th percentile duration for small writes and views while `work` runs. */
async function p99Beside(
  row: Row,
  others: readonly Customer[],
  work: () => Promise<unknown>,
): Promise<number> {
  const durations: number[] = [];
  let isOver = false;
  const clients = others.map(async ({ key, replica }, n) => {
    for (let i = 0; !isOver; i++) {
      const path = `/memories/f${n}-${Math.floor(i / 2) % 50}`;
      const started = performance.now();
      const { status } = await execute(
        replica,
        key,
        i % 2 === 0 ? cmd.create(path, 'small') : cmd.view(path),
      );
      durations.push(performance.now() - started);
      row.expect(status === 200, `a request of another tenant got ${status}`);
      await delay(5);
    }
  });
  await work();
  isOver = true;
  await Promise.all(clients);
  row.times += durations.length;
  durations.sort((one, other) => one - other);
  return durations[Math.floor(durations.length * 0.99)] ?? 0;
}

export async function keptOutCosts(environment: Environment): Promise<Row> {
  const seconds = environment.option('KEPT_OUT_SECONDS', 12, 3);
  const row = new Row('texts and lists that are slow to keep out');
  // Each tenant's policy is looked up every second, and then the changed entries are read.
  const scene = await openScene(environment, { AUTH_CACHE_SECONDS: '1' });
  const attacker = await customer(scene, 'attacker');
  const others: Customer[] = [];
  for (let i = 0; i < OTHERS; i++) others.push(await customer(scene, `other-${i}`));
  const formatMs = (value: number) => `${Math.round(value)} ms`;
  const compare = (title: string, quiet: number, beside: number) => {
    row.longestMs = Math.max(row.longestMs, beside);
    row.notes.push(
      `${title}: p99 ${formatMs(beside)}, ${formatMs(quiet)} without, ${(beside / quiet).toFixed(1)} times`,
    );
    row.expectInTime(beside < MAX_MS, `${title} raised the p99 of other tenants to ${formatMs(beside)}`);
  };

  await scene.admin('POST', '/tenants/attacker/kept-out', { text: 'Ana lives at 12 Elm Street' });
  const quiet = await p99Beside(row, others, () => delay(seconds * 500));
  let writes = 0;
  const end = performance.now() + seconds * 1000;
  const write = async () => {
    while (performance.now() < end) {
      const { status } = await execute(
        attacker.replica,
        attacker.key,
        cmd.create(`/memories/${writes++}`, LONG_FORM),
      );
      row.expect([200, 429, 503].includes(status), `a write of U+FDFA got ${status}`);
    }
  };
  compare('1 MiB of U+FDFA', quiet, await p99Beside(row, others, () => Promise.all([write(), write()])));
  row.count('writes of U+FDFA', writes);

  for (let i = 0; i < OWNERS; i++) await scene.admin('POST', '/tenants', { id: `owner-${i}` });
  await environment.postgres.query(addEntries, [], scene.database);
  await environment.postgres.query(
    'UPDATE installation SET kept_out_changes = kept_out_changes + 1',
    [],
    scene.database,
  );
  // The replica reads the list once.
  await scene.admin('POST', '/tenants/attacker/kept-out', { text: 'Ana moved to 7 Oak Lane' });
  await p99Beside(row, others, () => delay(2000));
  const quietList = await p99Beside(row, others, () => delay(seconds * 500));
  let added = 0;
  const add = async () => {
    for (const stop = performance.now() + seconds * 1000; performance.now() < stop; await delay(PAUSE_MS)) {
      const text = `Ana lives at ${added++} Elm Street`;
      const { status } = await scene.admin('POST', '/tenants/attacker/kept-out', { text });
      row.expect(status === 201, `an entry got ${status}`);
    }
  };
  compare('additions to 99,000 entries', quietList, await p99Beside(row, others, add));
  row.count('entries added', added);
  await scene.end();
  return row;
}
