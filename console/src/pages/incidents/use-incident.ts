import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { AuditEvent, Key } from '../../api/api-types.ts';
import { listAudit } from '../../api/audit-api.ts';
import {
  type FoundActor,
  getJob,
  type Job,
  type KeptOut,
  listActors,
  listIncidentJobs,
  listKeptOut,
  listOutcomes,
} from '../../api/incidents-api.ts';
import { onlyTenants } from '../../api/session-state.ts';
import { getKey } from '../../api/tenants-api.ts';
import { type Lost, useLost } from '../../ui/lost.tsx';
import { watch } from '../../ui/watch.ts';
import { storedRequest } from './incident-texts.ts';
import { isActive } from './use-job.ts';

const INTERVAL_MS = { active: 1000, idle: 5000 };
/** Maximum number of keys whose states are shown. */
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
  /** Number of tenants with an outcome in the first job. */
  tenants: number;
}

/** Label for an incident's texts that are kept out. */
export const incidentLabel = (id: string) => `incident ${id.slice(0, 8)}`;

/** Reads an incident again while its page is open, more often while one of its jobs runs. */
export function useIncident(id: string): {
  incident: Incident | undefined;
  lost: Lost | null;
  reload: () => void;
} {
  const [incident, setIncident] = useState<Incident>();
  const [round, setRound] = useState(0);
  const { lost, onResult } = useLost();
  const shown = useRef(incident);
  shown.current = incident;
  const isRunning = incident !== undefined && [incident.root, ...incident.jobs].some(isActive);
  useEffect(
    () =>
      watch(async (signal) => setIncident(await readIncident(id, shown.current, signal)), {
        intervalMs: isRunning ? INTERVAL_MS.active : INTERVAL_MS.idle,
        now: true,
        onResult,
      }),
    [id, isRunning, round],
  );
  return { incident, lost, reload: useCallback(() => setRound((n) => n + 1), []) };
}

async function readIncident(
  id: string,
  before: Incident | undefined,
  signal: AbortSignal,
): Promise<Incident> {
  const [root, { jobs }] = await Promise.all([getJob(id, signal), listIncidentJobs(id, signal)]);
  const isFound = before !== undefined && !isActive(before.root);
  const [{ actors }, outcomes] = await Promise.all([
    isFound ? before : listActors(id, signal),
    isFound ? { total: before.tenants, tenants: [] } : listOutcomes(id, { limit: 1 }, signal),
  ]);
  const [keys, keptOut] = await Promise.all([
    readKeys([root, ...jobs], actors, signal),
    readKeptOut(root, signal),
  ]);
  return {
    root,
    jobs,
    actors,
    keys,
    revocations: await readRevocations(keys, root, signal),
    keptOut,
    tenants: outcomes.total,
  };
}

async function readKeys(jobs: Job[], actors: FoundActor[], signal: AbortSignal): Promise<Key[]> {
  const ids = [
    ...actors.flatMap(({ actor, files }) => (files > 0 && 'id' in actor ? actor.id : [])),
    ...jobs.flatMap((job) => storedRequest(job).by ?? []),
  ];
  const unique = [...new Set(ids.filter((each) => each.startsWith('key_')))].slice(0, MAX_KEYS);
  // A deleted tenant's key, or a key outside the caller's scope, is missing.
  const keys = await Promise.all(unique.map((key) => getKey(key, signal).catch(() => [])));
  signal.throwIfAborted();
  return keys.flat();
}

async function readKeptOut(root: Job, signal: AbortSignal): Promise<KeptOut[]> {
  const [first] = root.only_tenants ?? [];
  const lists = [...(onlyTenants.value === null ? [null] : []), ...(first === undefined ? [] : [first])];
  const pages = await Promise.all(lists.map((tenant) => listKeptOut(tenant, null, signal)));
  const label = incidentLabel(root.id);
  return pages.flatMap(({ entries }) => entries.filter((entry) => entry.label.startsWith(label)));
}

async function readRevocations(keys: Key[], { created_at: since }: Job, signal: AbortSignal) {
  if (keys.every(({ revoked_at }) => revoked_at === null)) return [];
  const query = { tenant: '', tenant_contains: '', by_contains: '', outcome: 'ok', since };
  return (await listAudit({ ...query, action: ['revokeKey'] }, null, signal)).events;
}
