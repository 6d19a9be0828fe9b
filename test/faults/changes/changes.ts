/**
 * Readers follow the change feed, and webhooks receive it, while replicas and Postgres are killed.
 *
 * Environment: EVENTS and KILLS to reach, within MINUTES; SEED, TENANTS, WRITERS, and PAUSE_MS, the pause between two
 * writes by a writer.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../../support/random.ts';
import { becomesTrue, createDatabase, type Environment, LIMITS } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { Cluster } from './cluster.ts';
import { Crowd } from './crowd.ts';
import { reportDelays } from './delays.ts';
import { RecordedHistory } from './history.ts';
import { Killer } from './killer.ts';
import { Writers } from './writers.ts';

const REPLICAS = 3;
/** A suspension takes effect within a second. The webhooks' servers have a private address. */
const SETTINGS = { DB_POOL_MAX: '10', AUTH_CACHE_SECONDS: '1', WEBHOOK_ALLOWED_ADDRESSES: '127.0.0.1' };
/** Number of occasions on which readers start after now. */
const STARTS = 8;

export async function changes({ postgres, option }: Environment): Promise<Row> {
  const seed = option('SEED', Math.floor(Math.random() * 1e6));
  const [events, kills] = [option('EVENTS', 3000), option('KILLS', 6)];
  const row = new Row(`readers of changes by three replicas, seed ${seed}`);
  const database = await createDatabase(postgres);
  const env = { DATABASE_URL: postgres.url(postgres.port, database), ...LIMITS, ...SETTINGS };
  const cluster = await Cluster.start(REPLICAS, env);
  const random = createRandom(seed);
  const isLogOn = async () => (await cluster.admin(random, '/changes?after=now'))?.status === 200;
  row.expect(await becomesTrue(10_000, isLogOn), 'the log of all changes is off');

  const tenants = Array.from({ length: option('TENANTS', 100) }, (_, i) => `tenant-${i}`);
  const crowd = new Crowd(cluster, tenants, seed);
  const writers = new Writers({ cluster, tenants, seed, pauseMs: option('PAUSE_MS', 0) });
  await writers.prepare();
  const fleet = crowd.openReaders();
  await crowd.openEndpoints();
  const killer = new Killer(cluster, postgres, random, row);
  const began = performance.now();
  const deadline = began + option('MINUTES', 25) * 60_000;
  writers.start(option('WRITERS', 24));
  const hasRead = async (count: number) => {
    while (fleet.count < count && performance.now() < deadline) await delay(10);
  };
  const repeat = async (times: number, act: () => Promise<void> | void) => {
    for (let i = 1; i <= times && performance.now() < deadline; i++) {
      await hasRead((events * i) / (times + 1));
      await act();
    }
  };
  await Promise.all([
    repeat(kills, () => killer.kill()),
    repeat(STARTS, () => crowd.startNow()),
    hasRead(events),
  ]);
  const seconds = (performance.now() - began) / 1000;
  row.expect(fleet.count >= events && row.times === kills, 'the time was over too early');
  await writers.stop();

  const history = await RecordedHistory.read(postgres, database);
  await crowd.finish(history);
  const rates = await crowd.readAgain(history);
  await cluster.end();
  const { readers } = crowd;
  const { writes } = writers;
  row.wrong.push(...cluster.problems, ...readers.flatMap(({ problems }) => problems));
  writers.check(history, row);
  for (const reader of readers) history.checkReader(reader, writes, row);
  row.count('events', history.changes.length);
  crowd.countDeliveries(row);
  row.notes.push(`${Math.round(history.changes.length / seconds)} events a second`, ...rates);
  reportDelays({ readers, fleet, writes, killer }, row);
  return row;
}
