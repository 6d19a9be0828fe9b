import { actorText } from '../../../../src/core/memory/origin.ts';
import type { Key } from '../../api/api-types.ts';
import type { FoundActor, Job } from '../../api/incidents-api.ts';
import { actorFilter } from '../../text/actor.ts';
import { actorName, storedRequest } from './incident-texts.ts';
import type { Incident } from './use-incident.ts';
import { isActive } from './use-job.ts';

/** State of a step. `none`: the step has no work in this incident. */
export type StepState = 'open' | 'running' | 'done' | 'none';

/** Changes by an actor, by keys with one label, or from a source, and the job that undoes them. */
export interface Undoing {
  /** The actor as in a request: an ID, a label, or `source:NAME`. Null for all actors in a period. */
  by: string | null;
  name: string;
  /** Hits by the actor. Empty if no hit is by the actor. */
  found: FoundActor[];
  /** The newest job that has applied a dry run or, before that, the newest dry run. */
  job: Job | undefined;
}

export const STEPS = {
  revoke: 'Revoke the keys',
  undo: 'Undo their writes',
  drafts: 'Check the drafts',
  erase: 'Erase the text',
  'keep-out': 'Keep the text out',
  verify: 'Verify',
  receipt: 'Receipt',
} as const;
export type StepName = keyof typeof STEPS;

/** Derives an incident's steps from its jobs, keys, and kept-out texts. */
export function readSteps({ root, jobs, actors, keys, keptOut }: Incident) {
  const all = [...jobs, root];
  const erasure = all.find((job) => job.kind === 'erase' && !isTrial(job));
  const verification = jobs.find(({ kind }) => kind === 'find');
  const undoings = readUndoings(all, actors);
  /** Places in open drafts that may still contain the text or the changes. */
  const drafts = Math.max(
    (verification ?? erasure ?? root).counts.drafts ?? 0,
    ...undoings.map(({ job }) => job?.counts.drafts ?? 0),
  );
  const hasText = root.kind !== 'revert';
  const hasHits = hasText && (root.kind === 'erase' || (root.counts.hits ?? 0) > 0);
  const isErased = endState(erasure) === 'done' && (erasure?.counts.left ?? 0) === 0;
  const isKeptOut = keptOut.length > 0 || (erasure !== undefined && storedRequest(erasure).keepsOut != null);
  const isClean = endState(verification) === 'done' && (verification?.counts.hits ?? 0) === 0;
  const undone = undoings.map(({ job }) => (job && isTrial(job) && !isActive(job) ? 'open' : endState(job)));
  const states: Record<StepName, StepState> = {
    revoke: doneIf(keys.every(isEnded), keys.length > 0),
    undo: undone.includes('running') ? 'running' : doneIf(!undone.includes('open'), undone.length > 0),
    drafts: doneIf(isErased || isClean, drafts > 0),
    erase: hasHits && endState(erasure) === 'running' ? 'running' : doneIf(isErased, hasHits),
    'keep-out': doneIf(isKeptOut, hasText),
    verify: hasHits && endState(verification) === 'running' ? 'running' : doneIf(isClean, hasHits),
    receipt: doneIf(endState(erasure) === 'done', hasHits),
  };
  return { undoings, drafts, erasure, verification, states };
}

const doneIf = (isDone: boolean, isNeeded: boolean): StepState =>
  isNeeded ? (isDone ? 'done' : 'open') : 'none';

export const isTrial = (job: Job) => storedRequest(job).isDryRun === true;

/** Whether a key does not work any more. */
export const isEnded = ({ revoked_at, expires_at }: Key) =>
  revoked_at !== null || (expires_at !== null && Date.parse(expires_at) <= Date.now());

function endState(job: Job | undefined): StepState {
  if (job === undefined || job.state === 'cancelled') return 'open';
  return isActive(job) ? 'running' : 'done';
}

/** Lists the actors who wrote the text, and the actors whose changes a job undoes. */
function readUndoings(jobs: Job[], actors: FoundActor[]): Undoing[] {
  const reverts = jobs.filter(({ kind }) => kind === 'revert');
  // Keys with one label are often one agent's keys in many tenants.
  const writers = Map.groupBy(
    actors.filter(({ files }) => files > 0),
    ({ actor }) => actorText(actor),
  );
  const listed = [...writers].map(([name, found]) => {
    const names = found.flatMap(({ actor }) => [actorFilter(actor), 'label' in actor ? actor.label : null]);
    const [id = null, label = null] = names;
    return { by: found.length > 1 ? label || id : id, name, found, names };
  });
  const others = new Set(reverts.map((job) => storedRequest(job).by ?? null));
  for (const { names } of listed) for (const name of names) others.delete(name);
  for (const by of others)
    listed.push({ by, name: by === null ? 'all actors' : actorName(by), found: [], names: [by] });
  return listed.map(({ names, ...undoing }) => {
    const own = reverts.filter((job) => names.includes(storedRequest(job).by ?? null));
    return { ...undoing, job: own.find((job) => !isTrial(job)) ?? own[0] };
  });
}
