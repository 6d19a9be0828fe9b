/** One tenant opens all its subscriptions and changes a large memory all the time, while another tenant works. */
import { createArchive } from '../../support/create-archive.ts';
import { headersFor, modern } from '../../support/mcp.ts';
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { execute, openScene } from './scene.ts';

/** Maximum number of subscriptions for a tenant. */
const SUBSCRIPTIONS = 100;
const FILES_OF_ONE = 256;
const FILES = 5000;
/** Maximum factor between the median response times with and without the subscriptions. */
const MAX_FACTOR = 3;

export async function subscriptions(environment: Environment): Promise<Row> {
  const rounds = environment.option('SUBSCRIPTION_ROUNDS', 400, 60);
  const row = new Row('100 subscriptions to a memory that changes all the time');
  const scene = await openScene(environment);
  const [replica] = scene.replicas;
  if (replica === undefined) throw new Error('a scene has a replica');
  for (const id of ['attacker', 'quiet']) await scene.admin('POST', '/tenants', { id });
  const attacker = await scene.newKey({ tenant: 'attacker', access: 'read_write' });
  const quiet = await scene.newKey({ tenant: 'quiet', access: 'read_write' });
  const names = Array.from({ length: FILES }, (_, i) => `memories/d/${i}`);
  await scene.upload(
    '/tenants/attacker/import',
    createArchive(Object.fromEntries(names.map((n) => [n, 'x']))),
  );
  await execute(replica, quiet, cmd.create('/memories/f', 'x'));

  const measure = async () => {
    const times: number[] = [];
    for (let i = 0; i < rounds; i++) {
      const started = performance.now();
      const { status } = await execute(replica, quiet, cmd.view('/memories/f'));
      times.push(performance.now() - started);
      row.expect(status === 200, `a view of another tenant got ${status}`);
      row.times++;
    }
    times.sort((a, b) => a - b);
    row.longestMs = Math.max(row.longestMs, times.at(-1) ?? 0);
    return { p50: times[rounds >> 1] ?? 0, p99: times[Math.floor(rounds * 0.99)] ?? 0 };
  };

  let isOver = false;
  const changes = (async () => {
    for (let i = 0; !isOver; i++) await execute(replica, attacker, cmd.create(`/memories/d/new-${i}`, 'x'));
  })();
  const before = await measure();
  const open = new AbortController();
  for (let i = 0; i < SUBSCRIPTIONS; i++) {
    const uris = names.slice(i, i + FILES_OF_ONE).map((name) => `memory:///${name}`);
    const message = modern('subscriptions/listen', {
      notifications: { resourcesListChanged: true, resourceSubscriptions: uris },
    });
    const response = await fetch(`${replica.url}/mcp`, {
      method: 'POST',
      headers: {
        ...headersFor(message),
        authorization: `Bearer ${attacker}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify(message),
      signal: open.signal,
    });
    row.expect(response.status === 200, `a subscription got ${response.status}`);
    // Events are read until the attack ends.
    const drained = response.body?.pipeTo(new WritableStream());
    drained?.catch(() => {});
  }
  const during = await measure();
  isOver = true;
  open.abort();
  await changes;
  const text = ({ p50, p99 }: typeof before) => `${p50.toFixed(1)} ms (p99 ${p99.toFixed(1)} ms)`;
  row.notes.push(`views of another tenant: ${text(before)} before, ${text(during)} with subscriptions`);
  row.expectInTime(
    during.p50 <= MAX_FACTOR * before.p50,
    `subscriptions slow the views of another tenant from ${text(before)} to ${text(during)}`,
  );
  await scene.end();
  return row;
}
