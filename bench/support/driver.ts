/** C2, the driver's limit: the same SQL on two pipelined connections, without HTTP and without the service. */
import pg from 'pg';
import { type Execute, executeBare } from '../servers/bare.ts';
import { type Job, type Measured, serveJobs } from './job.ts';
import { Times } from './statistics.ts';
import { createCalls } from './workloads.ts';

const CONNECTIONS = 2;

serveJobs(async (job: Job): Promise<Measured> => {
  const clients = Array.from(
    { length: CONNECTIONS },
    () => new pg.Client({ connectionString: job.url, pipeline: true } as pg.ClientConfig),
  );
  await Promise.all(clients.map((client) => client.connect()));
  const from = performance.now() + job.warmUpSeconds * 1000;
  const to = from + job.seconds * 1000;
  const times = new Times();
  let all = 0;

  const work = async (client: number, query: Execute) => {
    const next = createCalls(job.workload, { ...job, client, clients: job.connections });
    for (let started = performance.now(); started < to; ) {
      const { tenant, input } = next();
      await executeBare(query, tenant, input);
      const now = performance.now();
      all++;
      if (now >= from && now < to) times.add(now - started);
      started = now;
    }
  };
  const inFlight = Array.from({ length: job.connections }, (_, i) => {
    const client = clients[i % CONNECTIONS] as pg.Client;
    return work(i, (query) => client.query(query));
  });
  await Promise.all(inFlight);
  await Promise.all(clients.map((client) => client.end()));
  return { rate: times.count / job.seconds, ...times.summary(), requests: times.count, all, failures: 0 };
});
