import type { Mode } from '../../../src/features/search/modes.ts';
import { type ApiRequest, post, type Query, remove, sendJson, sendRequest } from './api-client.ts';
import type {
  FoundActor,
  Hit,
  Job,
  JobOutcome,
  KeptOut,
  SignedReceipt,
  TenantSelectionInput,
} from './schema.ts';
import { tenantPath } from './tenants-api.ts';

export type {
  FoundActor,
  Hit,
  Job,
  JobOutcome,
  KeptOut,
  TenantSelectionInput as TenantSelection,
} from './schema.ts';

export type Counts = Job['counts'];
export type Part = 'both' | 'content' | 'path';
export type Place = 'current' | 'superseded' | 'drafts';

/** The job that began the incident, for a later job. */
interface InIncident {
  incident?: string;
}

export interface FindBody extends InIncident {
  text: string;
  mode: Mode;
  /** Whether to compare byte for byte, not in the normal form. */
  exact: boolean;
  /** Only with `exact`. */
  ignore_case: boolean;
  in: Part;
  places: Place[];
  by?: string;
  source?: string;
  since?: string;
  until?: string;
  tenants: TenantSelectionInput;
}

/** The changes to undo: made by an actor, or written with the keys from a source. */
export interface UndoBody extends InIncident {
  by?: string;
  source?: string;
  since: string;
  until?: string;
  /** The resolution for all conflicts. */
  take_all?: 'reverted' | 'current';
  tenants: TenantSelectionInput;
}

/** The text to erase. */
export interface EraseBody extends InIncident {
  text: string;
  exact: boolean;
  ignore_case: boolean;
  replacement: string;
  keep_out: boolean;
  tenants: TenantSelectionInput;
  dry_run: boolean;
}

export const findRequest = (json: FindBody) => post('find', json);
export const undoRequest = (json: UndoBody) => post('revert', json);

export const eraseRequest = (json: EraseBody) => post('erase', json);

const jobPath = (job: string, rest = '') => `jobs/${encodeURIComponent(job)}${rest}`;

/** Makes the changes that a dry run reported. */
export const applyRequest = (dryRun: string) => post(jobPath(dryRun, '/apply'));
export const cancelRequest = (job: string) => post(jobPath(job, '/cancel'));

/** @param tenant null keeps the text out of every memory */
export const keepOutRequest = (tenant: string | null, json: { text: string; label: string }) =>
  post(keptOutPath(tenant), json);

const keptOutPath = (tenant: string | null) =>
  tenant === null ? 'kept-out' : tenantPath(tenant, '/kept-out');

/** @param tenant null for the texts that are kept out of every memory */
export const listKeptOut = (tenant: string | null, after: string | null, signal: AbortSignal) =>
  sendJson<{ entries: KeptOut[]; next: string | null }>(keptOutPath(tenant), {
    query: { after, limit: 100 },
    signal,
  });

export const allowRequest = (tenant: string | null, entry: string) =>
  remove(`${keptOutPath(tenant)}/${encodeURIComponent(entry)}`);

/** Sends a request that creates or changes a job. */
export const sendJob = (request: ApiRequest) => sendRequest<Job>(request);

export const sendKeepOut = (request: ApiRequest) => sendRequest<KeptOut>(request);

export const listJobs = (after: string | null, signal: AbortSignal) =>
  sendJson<{ jobs: Job[]; next: string | null }>('jobs', { query: { after, limit: 20 }, signal });

/** Lists the last 100 jobs after an incident's first job, newest first. */
export const listIncidentJobs = (incident: string, signal: AbortSignal) =>
  sendJson<{ jobs: Job[] }>('jobs', { query: { incident, limit: 100 }, signal });

export const listActors = (job: string, signal: AbortSignal) =>
  sendJson<{ actors: FoundActor[] }>(jobPath(job, '/actors'), { signal });

/** @param tenant lists the files that a revert left unchanged in this tenant */
export const listConflicts = (job: string, tenant: string, signal: AbortSignal) =>
  sendJson<{ conflicts: JobConflict[]; next: string | null }>(
    jobPath(job, `/tenants/${encodeURIComponent(tenant)}/conflicts`),
    { query: { limit: 200 }, signal },
  );

export interface JobConflict {
  path: string | null;
  memory_id: string | null;
  reason: string;
}

export const getJob = (job: string, signal: AbortSignal) => sendJson<Job>(jobPath(job), { signal });

export interface OutcomesPage {
  tenants: JobOutcome[];
  total: number;
  next: string | null;
}

export const listOutcomes = (job: string, query: Query, signal: AbortSignal) =>
  sendJson<OutcomesPage>(jobPath(job, '/tenants'), { query: { limit: 200, ...query }, signal });

export const listReceipts = (job: string, after: string | null, signal: AbortSignal) =>
  sendJson<{ receipts: StoredReceipt[]; next: string | null }>('receipts', {
    query: { job, after, limit: 200 },
    signal,
  });

/** A signed receipt, with the public key for its signature. */
export type StoredReceipt = SignedReceipt & { public_key: string };

export const listHits = (job: string, tenant: string, after: string | null, signal: AbortSignal) =>
  sendJson<{ hits: Hit[]; stored: number; next: string | null }>(
    jobPath(job, `/tenants/${encodeURIComponent(tenant)}/hits`),
    { query: { after }, signal },
  );
