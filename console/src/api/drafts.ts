import { sendJson } from './client.ts';
import type { Draft, DraftChange, DraftResolutionInput, MergedDraft } from './schema.ts';
import { tenantPath } from './tenants.ts';
import type { FileDiff } from './types.ts';

export type { Draft, DraftChange } from './schema.ts';
export type DraftState = Draft['state'];
export type Resolution = DraftResolutionInput;

export interface DraftsPage {
  drafts: Draft[];
  /** Drafts in this state, on all pages. */
  total: number;
  next: string | null;
}

export interface DraftsQuery {
  state?: DraftState | 'closed';
  limit?: number;
  after?: string | null;
}

/** Drafts, the newest first: of a tenant, or of all tenants that the session may see. */
export const listDrafts = (tenant: string | undefined, query: DraftsQuery, signal: AbortSignal) =>
  sendJson<DraftsPage>(tenant === undefined ? 'drafts' : tenantPath(tenant, '/drafts'), {
    query: { ...query },
    signal,
  });

const draftPath = (tenant: string, id: string, rest = '') =>
  tenantPath(tenant, `/drafts/${encodeURIComponent(id)}${rest}`);

export const getDraft = (tenant: string, id: string, signal: AbortSignal) =>
  sendJson<Draft>(draftPath(tenant, id), { signal });

/** A draft beside the memory that it came from. */
export interface Comparison {
  draft: Draft;
  /** Stands for what the comparison shows. */
  review: string;
  counts: { draft: number; original: number; both: number; conflicts: number };
  changes: DraftChange[];
}

/**
 * Compares a draft, with all pages. `review` is that of the first page: when something changed before the last one
 * was read, a merge is refused.
 */
export async function compareDraft(tenant: string, id: string, signal: AbortSignal): Promise<Comparison> {
  const page = (after: string | null) =>
    sendJson<Comparison & { next: string | null }>(draftPath(tenant, id, '/changes'), {
      query: { limit: 1000, after },
      signal,
    });
  const first = await page(null);
  const changes = [...first.changes];
  for (let { next } = first; next !== null; ) {
    const more = await page(next);
    changes.push(...more.changes);
    next = more.next;
  }
  return { ...first, changes };
}

export type Region =
  | { kind: 'merged'; text: string }
  | { kind: 'conflict'; base: string; draft: string; original: string };

/** What both sides changed in a file, and how that goes together. */
export interface DraftDiff {
  change: DraftChange;
  /** From the base to each side. */
  draft: FileDiff;
  original: FileDiff;
  texts: { base: string | null; draft: string | null; original: string | null };
  /** Null unless both sides changed the content. */
  regions: Region[] | null;
}

export const diffDraft = (tenant: string, id: string, memory_id: string, signal: AbortSignal) =>
  sendJson<DraftDiff>(draftPath(tenant, id, '/diff'), { query: { memory_id }, signal });

/** @throws ApiError with status 412 when what was reviewed has changed */
export const mergeDraft = (tenant: string, id: string, review: string, resolutions: Resolution[]) =>
  sendJson<MergedDraft>(draftPath(tenant, id, '/merge'), { method: 'POST', json: { review, resolutions } });

/** @throws ApiError with status 412 when anything at all has changed since the review */
export const replaceByDraft = (tenant: string, id: string, review: string) =>
  sendJson<MergedDraft>(draftPath(tenant, id, '/replace'), { method: 'POST', json: { review } });

export const closeDraft = (tenant: string, id: string) =>
  sendJson<Draft>(draftPath(tenant, id, '/close'), { method: 'POST' });
