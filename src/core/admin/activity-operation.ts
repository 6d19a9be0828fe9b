import { z } from 'zod';
import { activitySince, type Latency, readActivity, runningServers } from '../tenants/activity.ts';
import { defineOperation } from './admin-operation.ts';
import { actor, tenantId, time } from './fields.ts';

/** Maximum number of callers in a response, and of rejections. */
const MOST = 20;

const counted = z.int().min(0);
const milliseconds = z.number().min(0);

const caller = {
  tenant: tenantId.nullable().meta({ description: 'Null if the caller is for no tenant, or is unknown.' }),
  actor: actor.nullable().meta({ description: 'Null if the credential was not accepted.' }),
};

const callerSchema = z
  .object({ ...caller, reads: counted, writes: counted })
  .meta({ id: 'Caller', description: 'Calls by an actor in a tenant.' });

const rejectionSchema = z
  .object({
    ...caller,
    reason: z.string().meta({
      description: 'The error code. A rejected call to a tool has one of the same codes, or `read_only`.',
      examples: ['rate_limited'],
    }),
    count: counted,
  })
  .meta({ id: 'RejectedCalls', description: 'Rejected requests and calls by an actor, with one reason.' });

const latency = { calls: counted, p50_ms: milliseconds, p95_ms: milliseconds };
const latencySchema = z
  .object({ command: z.string(), ...latency })
  .meta({ id: 'CommandLatency', description: 'Percentiles, accurate to 10 %; 0 without calls.' });

const replicaSchema = z
  .object({ id: z.guid(), version: z.string(), started_at: time, seen_at: time })
  .meta({ id: 'Replica' });

export const getActivity = defineOperation({
  id: 'getActivity',
  method: 'GET',
  url: '/activity',
  summary: "Get the last hour's calls by actor, rejections, and latency, and the running replicas",
  description:
    'Each replica records its calls every 15 seconds, in slots of five minutes. Only calls by agents count (`/execute`, MCP, `/search`, and the Memory Stores API).',
  tag: 'tenants',
  response: {
    description: 'The activity.',
    schema: z.object({
      since: time,
      total: z.object({ reads: counted, writes: counted, rejected: counted }),
      callers: z.array(callerSchema).meta({ description: 'The most active, in descending order.' }),
      rejections: z.array(rejectionSchema).meta({ description: 'The most frequent, in descending order.' }),
      latency: z.object(latency).meta({ description: 'All commands.' }),
      latencies: z.array(latencySchema),
      replicas: z.array(replicaSchema),
      database: z.object({ kind: z.enum(['postgres', 'citus', 'pglite']), version: z.string() }),
    }),
  },
  async run({ database }) {
    const since = activitySince();
    const [{ rejections, latency, latencies, ...rest }, { replicas, databaseVersion }] = await Promise.all([
      readActivity(database, since, MOST),
      runningServers(database),
    ]);
    return {
      since,
      ...rest,
      rejections: rejections.map(({ rejected: count, ...each }) => ({ ...each, count })),
      latency: latencyRecord(latency),
      latencies: latencies.map(latencyRecord),
      replicas: replicas.map(({ startedAt, seenAt, ...replica }) => ({
        ...replica,
        started_at: startedAt,
        seen_at: seenAt,
      })),
      database: { kind: database.kind, version: databaseVersion },
    };
  },
});

function latencyRecord<Of extends Latency>({ p50, p95, ...rest }: Of) {
  return { ...rest, p50_ms: p50, p95_ms: p95 };
}
