import { ApiError } from '../../api/api-client.ts';
import type { AuditEvent, Key } from '../../api/api-types.ts';
import { listAudit } from '../../api/audit-api.ts';
import {
  type FoundActor,
  type Job,
  type KeptOut,
  listActors,
  listIncidentJobs,
  listKeptOut,
  listOutcomes,
} from '../../api/incidents-api.ts';
import { queries } from '../../api/queries.ts';
import { onlyTenants } from '../../api/session-state.ts';
import { getKey } from '../../api/tenants-api.ts';
import { useLoad } from '../../ui/use-load.ts';
import { storedRequest } from './incident-texts.ts';
import { useJob } from './use-job.ts';

const INTERVAL_MS = 5000;
/** Maximum age for a key's state. Its revocation shows earlier. */
const KEY_MS = 60_000;
/** Maximum for keys whose states are shown. */
const MAX_KEYS = 20;

/** An incident's state in the service, so that every operator sees the same steps. */
export interface Incident {
  /** The first job. */
  root: Job;
  /** The later jobs, newest first. */
  jobs: Job[];
  /** The actors who wrote the hits, those who wrote the text into most files first. */
  actors: FoundActor[];
  /** Keys that wrote hits, or whose changes are undone. */
  keys: Key[];
  /** Audit events for revoked keys. */
  revocations: AuditEvent[];
  /** The incident's entries for texts that are kept out of all tenants, or of the first tenant with hits. */
  keptOut: KeptOut[];
  /** Tenants with an outcome in the first job. */
  tenants: number;
}

/** Label for an incident's texts that are kept out. */
export const incidentLabel = (id: string) => `incident ${id.slice(0, 8)}`;

/**
 * Follows an incident while its page is open.
 *
 * @param id the first job's ID
 * @param shown the page's job. When it ends, the incident is read immediately.
 */
export function useIncident(id: string, shown: Job) {
  const { data: root } = useJob(id);
  const { data, lost, reload } = useLoad(
    async (signal) => (root ? readIncident(root, signal) : null),
    [id, root?.state, shown.state],
    undefined,
    INTERVAL_MS,
  );
  const incident: Incident | undefined = root && data ? { ...data, root } : undefined;
  return { incident, lost, reload };
}

async function readIncident(root: Job, signal: AbortSignal): Promise<Omit<Incident, 'root'>> {
  const [{ jobs }, found, keptOut] = await Promise.all([
    listIncidentJobs(root.id, signal),
    queries.fetchQuery({
      queryKey: ['found', root.id, root.state, root.tenants_done],
      queryFn: ({ signal }) => readFound(root.id, signal),
      staleTime: Number.POSITIVE_INFINITY,
    }),
    readKeptOut(root, signal),
  ]);
  const ids = findKeys([root, ...jobs], found.actors);
  const revocations = ids.length === 0 ? [] : await readRevocations(root, signal);
  const keys = await Promise.all(ids.map((key) => readKey(key, revocations)));
  signal.throwIfAborted();
  return { jobs, ...found, keys: keys.flat(), revocations, keptOut };
}

async function readFound(job: string, signal: AbortSignal) {
  const [{ actors }, { total }] = await Promise.all([
    listActors(job, signal),
    listOutcomes(job, { limit: 1 }, signal),
  ]);
  return { actors, tenants: total };
}

function findKeys(jobs: Job[], actors: FoundActor[]): string[] {
  const ids = [
    ...actors.flatMap(({ actor, files }) => (files > 0 && 'id' in actor ? actor.id : [])),
    ...jobs.flatMap((job) => storedRequest(job).by ?? []),
  ];
  return [...new Set(ids.filter((each) => each.startsWith('key_')))].slice(0, MAX_KEYS);
}

/** Reads a key again after its revocation. Its last use may be older by `KEY_MS`. */
function readKey(id: string, revocations: AuditEvent[]): Promise<Key | []> {
  const isRevoked = revocations.some(({ key }) => key === id);
  return queries.fetchQuery({
    queryKey: ['incident key', id, isRevoked],
    // A deleted tenant's key, or a key outside the caller's scope, is missing.
    queryFn: ({ signal }) =>
      getKey(id, signal).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return [];
        throw error;
      }),
    staleTime: KEY_MS,
  });
}

async function readKeptOut(root: Job, signal: AbortSignal): Promise<KeptOut[]> {
  const [first] = root.only_tenants ?? [];
  const lists = [...(onlyTenants.value === null ? [null] : []), ...(first === undefined ? [] : [first])];
  const pages = await Promise.all(lists.map((tenant) => listKeptOut(tenant, null, signal)));
  const label = incidentLabel(root.id);
  return pages.flatMap(({ entries }) => entries.filter((entry) => entry.label.startsWith(label)));
}

async function readRevocations({ created_at: since }: Job, signal: AbortSignal): Promise<AuditEvent[]> {
  const query = { tenant: '', tenant_contains: '', by_contains: '', outcome: 'ok', since };
  return (await listAudit({ ...query, action: ['revokeKey'] }, null, signal)).events;
}
