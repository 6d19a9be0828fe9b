/** The process that generates load with autocannon. It checks every response. */
import autocannon from 'autocannon';
import { type Job, type Measured, serveJobs } from './job.ts';
import { Times } from './statistics.ts';
import { type Call, createCalls, isRepeatable } from './workloads.ts';

serveJobs(async (job: Job): Promise<Measured> => {
  const { url, headers, connections, warmUpSeconds, seconds, rate } = job;
  const count = requestCount(job);
  let clients = 0;
  const times = new Times();
  const load = autocannon({
    url: `${url}/execute`,
    method: 'POST',
    connections,
    duration: warmUpSeconds + seconds,
    ...(rate === undefined ? {} : { overallRate: rate }),
    headers: { 'content-type': 'application/json', ...headers },
    verifyBody: (body) => body.includes('"is_error":false'),
    setupClient: (client) => {
      const next = createCalls(job.workload, { ...job, client: clients++, clients: connections });
      client.setRequests(Array.from({ length: count }, () => toRequest(next(), job)));
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
  // A response with another status also lacks `is_error: false`, and therefore already counts as a mismatch.
  const failures = Math.max(non2xx, mismatches) + errors + timeouts;
  return { rate: times.count / seconds, ...times.summary(), requests: times.count, all, failures };
});

/**
 * Upper bound for a contestant's calls per second, for workloads that cannot repeat calls. A faster contestant would
 * report failures.
 */
const MOST_PER_SECOND = 10_000;
/** Number of calls with which each connection visits all its tenants and file names. */
const REPEATED = 300;

/**
 * Returns the number of requests to build per connection before the load starts, because building them during the load
 * would take CPU time from the contestant. Connections cycle through their requests. A workload that cannot repeat a
 * call needs as many requests as a turn can send.
 */
function requestCount({ workload, keyed, connections, warmUpSeconds, seconds }: Job): number {
  if (isRepeatable(workload) && !keyed) return REPEATED;
  return Math.ceil((MOST_PER_SECOND * (warmUpSeconds + seconds)) / connections);
}

let keys = 0;

function toRequest({ tenant, input }: Call, { headers, keyed, run }: Job) {
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
