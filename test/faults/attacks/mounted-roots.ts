/**
 * A tenant views its memory's root, which mounts 16 memories of 9,900 files, while another tenant views one file.
 */
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Replica } from '../../support/faults/replica.ts';
import { cmd } from '../../support/step-table.ts';
import { createDatabase, type Environment } from '../environment.ts';
import { Row } from '../fault-report.ts';

const MOUNTS = 16;
const FILES = 9900;
const CLIENTS = 32;
const ATTACKER = 'mounting';
const QUIET = 'quiet';
const EVERY_MS = 20;
/** Maximum growth factor for the quiet tenant's p99, and a latency that is always accepted. */
const MAX_RATIO = 5;
const LOW_MS = 50;

/** MOUNTED_SECONDS (8) sets how long the views are sent. */
export async function mountedRoots({ postgres, option }: Environment): Promise<Row> {
  const seconds = option('MOUNTED_SECONDS', 8, 3);
  const row = new Row(`views of ${MOUNTS} mounts of ${FILES} files`);
  const database = await createDatabase(postgres);
  const mounted = Array.from({ length: MOUNTS }, (_, i) => `mounted-${i}`);
  const tenants = [
    ...mounted.map((id) => ({ id })),
    { id: ATTACKER, mounts: mounted.map((tenant, i) => ({ name: `m${i}`, tenant })) },
    { id: QUIET },
  ];
  const replica = await Replica.create({
    DATABASE_URL: postgres.url(postgres.port, database),
    BOOTSTRAP: JSON.stringify({ tenants }),
  });
  await replica.start();
  for (const tenant of mounted) {
    await postgres.query(
      `INSERT INTO entries (tenant_id, path, parent_path, kind, changed_at) VALUES ('${tenant}', '/memories', NULL, 'dir', now())`,
      [],
      database,
    );
    await postgres.query(`SELECT memory_bind_root('${tenant}')`, [], database);
    await postgres.query(
      `INSERT INTO entries (tenant_id, path, parent_path, kind, content, version, memory_id, operation, changed_at)
       SELECT '${tenant}', '/memories/' || n, '/memories', 'file', 'x', memory_version_id(memory_id_prefix(now()), gen_random_uuid()), gen_random_uuid(), 'created', now()
       FROM generate_series(1, ${FILES}) AS n`,
      [],
      database,
    );
  }
  await postgres.query('VACUUM ANALYZE entries', [], database);
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const execute = (tenant: string, input: object) =>
    new Promise<number>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'x-tenant-id': tenant };
      const sent = request(`${replica.url}/execute`, { agent, method: 'POST', headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      });
      sent.on('error', reject).end(JSON.stringify(input));
    });
  row.expect(
    (await execute(QUIET, cmd.create('/memories/f', 'x'.repeat(1000)))) === 200,
    'the file is not made',
  );

  /** Returns the p99 for views that are sent at a fixed rate, independent of responses. */
  const quietP99 = async (isOver: () => boolean): Promise<number> => {
    const times: number[] = [];
    const sent: Promise<void>[] = [];
    while (!isOver()) {
      const start = performance.now();
      sent.push(
        execute(QUIET, cmd.view('/memories/f')).then((status) => {
          times.push(performance.now() - start);
          row.expect(status === 200, `the quiet tenant gets ${status}`);
        }),
      );
      await delay(EVERY_MS);
    }
    await Promise.all(sent);
    times.sort((one, other) => one - other);
    return times[Math.floor(times.length * 0.99)] ?? 0;
  };
  const after = (ms: number) => {
    const end = performance.now() + ms;
    return () => performance.now() > end;
  };
  await quietP99(after(500));
  const alone = await quietP99(after(seconds * 500));
  const isOver = after(seconds * 1000);
  const view = async () => {
    while (!isOver()) {
      if ((await execute(ATTACKER, cmd.view('/memories'))) === 200) row.times++;
    }
  };
  const views = Promise.all(Array.from({ length: CLIENTS }, view));
  const attacked = await quietP99(isOver);
  await views;
  row.notes.push(
    `p99 of a quiet view: ${alone.toFixed(1)} ms alone, ${attacked.toFixed(1)} ms during ${row.times} views`,
  );
  row.expect(row.times > 0, 'no view of the mounts has a result');
  row.expectInTime(
    attacked <= Math.max(LOW_MS, MAX_RATIO * alone),
    `p99 of a quiet view is ${attacked.toFixed(1)} ms, ${alone.toFixed(1)} ms alone`,
  );
  agent.destroy();
  await replica.end();
  return row;
}
