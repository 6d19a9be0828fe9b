/** Agents write a text on two replicas while it is erased and kept out. */
import { setTimeout as delay } from 'node:timers/promises';
import { cmd } from '../../support/step-table.ts';
import type { Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';
import { execute, openScene, type Scene } from './scene.ts';

const TEXT = 'Ana lives at 12 Elm Street';
const TENANTS = 6;
const PAUSE_MS = 20;

interface Job {
  id: string;
  state: string;
  is_exact: boolean;
  counts: Record<string, number>;
}

/** Starts a job, and returns it after its end. */
async function endedJob(scene: Scene, path: string, body: object): Promise<Job> {
  const { text } = await scene.admin('POST', path, body);
  for (let job = JSON.parse(text) as Job; ; ) {
    if (job.state === 'done') return job;
    await delay(100);
    job = JSON.parse((await scene.admin('GET', `/jobs/${job.id}`)).text) as Job;
  }
}

export async function keptOutErasures(environment: Environment): Promise<Row> {
  const cacheSeconds = environment.option('KEPT_OUT_CACHE_SECONDS', 10, 2);
  const row = new Row('an erased text that agents write on two replicas until it is kept out');
  const env = { AUTH_CACHE_SECONDS: `${cacheSeconds}`, DB_STATEMENT_TIMEOUT_MS: `${cacheSeconds}s` };
  const scene = await openScene(environment, env, 2);
  let isOver = false;
  let accepted = 0;
  const agent = async (tenant: string, key: string, replica: Scene['replicas'][number]) => {
    for (let i = 0; !isOver; i++) {
      const file = cmd.create(`/memories/${scene.replicas.indexOf(replica)}-${i}.md`, TEXT);
      const { status, text } = await execute(replica, key, file);
      row.expect(status === 200, `a write in ${tenant} got ${status}`);
      if (text.includes('"is_error":false')) accepted++;
      await delay(PAUSE_MS);
    }
  };
  const agents: Promise<void>[] = [];
  for (let i = 0; i < TENANTS; i++) {
    const tenant = `tenant-${i}`;
    await scene.admin('POST', '/tenants', { id: tenant });
    const key = await scene.newKey({ tenant, access: 'read_write' });
    agents.push(...scene.replicas.map((replica) => agent(tenant, key, replica)));
  }
  while (accepted < 4 * TENANTS) await delay(PAUSE_MS);
  const before = accepted;
  const erased = await endedJob(scene, '/erase', { text: TEXT, keep_out: true, dry_run: false });
  row.expect(erased.is_exact, 'the erasure is not exact');
  const left = await endedJob(scene, '/find', { text: TEXT });
  row.expect(left.counts.hits === 0, `${left.counts.hits} places have the text after the erasure`);
  isOver = true;
  await Promise.all(agents);
  const late = await endedJob(scene, '/find', { text: TEXT });
  row.expect(late.counts.hits === 0, `${late.counts.hits} places have the text after the last write`);
  row.times = accepted;
  row.expect(accepted > before, 'no write was accepted during the erasure');
  row.notes.push(
    `${accepted - before} writes with the text after the start of the erasure, ${erased.counts.files} files erased, ${left.counts.hits} and ${late.counts.hits} places left`,
  );
  await scene.end();
  return row;
}
