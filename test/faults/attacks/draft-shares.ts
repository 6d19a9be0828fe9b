/** Several propose-only keys for one tenant search for the maximum time and exceed the tenant's rate. */
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { call, execute, openScene } from './scene.ts';

const PROPOSERS = 4;
const RATE = 60;
/** A search shares its replica with at most three other searches, all of them fast. */
const MAX_SEARCH_MS = 2000;
const SLOW = { query: '(\\pL{30} ){30}x', mode: 'regex' };

export async function draftShares(environment: Environment): Promise<Row> {
  const files = environment.option('SEARCHED_FILES', 400, 100);
  const row = new Row('search and rate of one tenant by several propose-only keys');
  const scene = await openScene(environment);
  const [replica] = scene.replicas;
  if (replica === undefined) throw new Error('a scene has a replica');
  for (const id of ['attacker', 'quiet', 'limited']) await scene.admin('POST', '/tenants', { id });
  const quiet = await scene.newKey({ tenant: 'quiet', access: 'read_write' });
  const owner = await scene.newKey({ tenant: 'attacker', access: 'read_write' });
  const text = `${'abcdefghijklmnopqrstuvwxyzabcd '.repeat(300)}\n`.repeat(10);
  for (let i = 0; i < files; i++) await execute(replica, owner, cmd.create(`/memories/${i}.md`, text));
  await execute(replica, quiet, cmd.create('/memories/f.md', 'needle'));
  const proposers = [];
  for (let i = 0; i < PROPOSERS; i++) {
    const key = await scene.newKey({ tenant: 'attacker', access: 'propose' });
    await execute(replica, key, cmd.create(`/memories/proposed-${i}.md`, 'x'));
    proposers.push(key);
  }
  const slow = proposers.map((key) => call(`${replica.url}/search`, 'POST', key, SLOW));
  for (let i = 0; i < 20; i++) {
    const started = performance.now();
    const { status } = await call(`${replica.url}/search`, 'POST', quiet, { query: 'needle' });
    row.longestMs = Math.max(row.longestMs, performance.now() - started);
    row.expect(status === 200, `a search of another tenant got ${status}`);
    row.times++;
  }
  row.expectInTime(
    row.longestMs < MAX_SEARCH_MS,
    `a search of another tenant took ${Math.round(row.longestMs)} ms`,
  );
  await Promise.all(slow);

  await scene.admin('PATCH', '/tenants/limited', { settings: { rate_per_minute: RATE } });
  const keys = [await scene.newKey({ tenant: 'limited', access: 'read_write' })];
  for (let i = 0; i < PROPOSERS; i++) keys.push(await scene.newKey({ tenant: 'limited', access: 'propose' }));
  const statuses = [];
  for (let i = 0; i < RATE; i++)
    for (const key of keys) statuses.push((await execute(replica, key, cmd.view('/memories'))).status);
  const served = statuses.filter((status) => status === 200).length;
  row.times += statuses.length;
  row.notes.push(`${served} of ${statuses.length} requests served at a rate of ${RATE}`);
  // The requests may extend into a second minute.
  row.expect(served <= 2 * RATE, `${served} requests were served at a rate of ${RATE} a minute`);
  await scene.end();
  return row;
}
