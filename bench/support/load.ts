/** The process that generates load with autocannon. It checks every response. */
import autocannon from 'autocannon';
import { type Job, type Measured, serveJobs } from './job.ts';
import { Times } from './statistics.ts';
import { type Call, callsOf, isRepeatable } from './workloads.ts';

serveJobs(async (job: Job): Promise<Measured> => {
  const { url, headers, connections, warmUpSeconds, seconds } = job;
  const count = countOf(job);
  let clients = 0;
  const times = new Times();
  const load = autocannon({
    url: `${url}/execute`,
    method: 'POST',
    connections,
    duration: warmUpSeconds + seconds,
    headers: { 'content-type': 'application/json', ...headers },
    verifyBody: (body) => body.includes('"is_error":false'),
    setupClient: (client) => {
      const next = callsOf(job.workload, { ...job, client: clients++, clients: connections });
      client.setRequests(Array.from({ length: count }, () => requestOf(next(), job)));
    },
  });
  let all = 0;
  const from = performance.now() + warmUpSeconds * 1000;
  const to = from + seconds * 1000;
  load.on('response', (_client, _status, _bytes, milliseconds: number) => {
    const now = performance.now();
    all++;
    if (now >= from && now < to) times.add(milliseconds);
  });
  const { non2xx, errors, timeouts, mismatches } = await load;
  const [p50 = Number.NaN, p99 = Number.NaN] = times.percentiles(0.5, 0.99);
  // A response that is not 2xx does not contain `is_error: false` either, so it also counts as a mismatch.
  const failures = Math.max(non2xx, mismatches) + errors + timeouts;
  return { rate: times.count / seconds, p50, p99, requests: times.count, all, failures };
});

/** More calls per second than any contestant answers when calls may not repeat. A faster one would report failures. */
const MOST_PER_SECOND = 10_000;
/** Enough calls for each connection to visit all its tenants and file names. */
const REPEATED = 300;

/**
 * Returns how many requests to build per connection before the load starts. Building them during the load would take
 * CPU time from the contestant. Connections cycle through their requests, so workloads that cannot repeat a call need
 * as many as a turn can send.
 */
function countOf({ workload, keyed, connections, warmUpSeconds, seconds }: Job): number {
  if (isRepeatable(workload) && !keyed) return REPEATED;
  return Math.ceil((MOST_PER_SECOND * (warmUpSeconds + seconds)) / connections);
}

let keys = 0;

function requestOf({ tenant, input }: Call, { headers, keyed, run }: Job) {
  return {
    body: JSON.stringify(input),
    headers: {
      'content-type': 'application/json',
      ...headers,
      'x-tenant-id': tenant,
      ...(keyed && input.command !== 'view' ? { 'idempotency-key': `${run}-${keys++}` } : {}),
    },
  };
}
