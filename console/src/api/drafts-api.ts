import type { Region } from '../../../src/core/history/merge-lines.ts';
import { post, send, sendJson, sendRequest } from './api-client.ts';
import type { FileDiff } from './api-types.ts';
import type { Draft, DraftChange, DraftComment, DraftResolutionInput, MergedDraft } from './schema.ts';
import { tenantPath } from './tenants-api.ts';

export type { Draft, DraftChange, DraftComment } from './schema.ts';
export type DraftState = Draft['state'];
export type ResolutionInput = DraftResolutionInput;

export interface DraftsPage {
  drafts: Draft[];
  /** Number of drafts in the requested state, on all pages. */
  total: number;
  oldest_created_at: string | null;
  next: string | null;
}

export interface DraftsQuery {
  state?: DraftState | 'closed';
  limit?: number;
  after?: string | null;
}

/** Lists drafts, newest first: for one tenant, or for all tenants in the session's scope. */
export const listDrafts = (tenant: string | undefined, query: DraftsQuery, signal: AbortSignal) =>
  sendJson<DraftsPage>(tenant === undefined ? 'drafts' : tenantPath(tenant, '/drafts'), {
    query: { ...query },
    signal,
  });

const draftPath = (tenant: string, id: string, rest = '') =>
  tenantPath(tenant, `/drafts/${encodeURIComponent(id)}${rest}`);

export const getDraft = (tenant: string, id: string, signal: AbortSignal) =>
  sendJson<Draft>(draftPath(tenant, id), { signal });

/** A draft compared with its original memory. */
export interface Comparison {
  draft: Draft;
  /** The comparison's fingerprint, required to merge exactly the version that was reviewed. */
  review: string;
  counts: { draft: number; original: number; both: number; conflicts: number };
  changes: DraftChange[];
}

/**
 * Compares a draft and loads all pages. `review` is from the first page. A merge is rejected if the draft or the
 * original changed while later pages were read.
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

/** Changes by both sides to one file, and their merge. */
export interface DraftDiff {
  change: DraftChange;
  /** Differences from the base to the draft, and from the base to the original. */
  draft: FileDiff;
  original: FileDiff;
  texts: { base: string | null; draft: string | null; original: string | null };
  /** Null unless both sides changed the content. */
  regions: Region[] | null;
}

export const diffDraft = (tenant: string, id: string, memory_id: string, signal: AbortSignal) =>
  sendJson<DraftDiff>(draftPath(tenant, id, '/diff'), { query: { memory_id }, signal });

export const listComments = (tenant: string, id: string, signal: AbortSignal) =>
  sendJson<{ comments: DraftComment[] }>(draftPath(tenant, id, '/comments'), { signal });

/** A new comment on the whole draft, on a file by its memory ID, or on a line in the draft's file. */
export interface NewComment {
  text: string;
  memory_id?: string;
  line?: number;
  /** Name of the person whose review the comment requests. */
  reviewer?: string;
}

export const addComment = (tenant: string, id: string, json: NewComment) =>
  sendJson<DraftComment>(draftPath(tenant, id, '/comments'), { method: 'POST', json });

export const resolveComment = (tenant: string, id: string, comment: string, resolved: boolean) =>
  sendJson<DraftComment>(draftPath(tenant, id, `/comments/${encodeURIComponent(comment)}`), {
    method: 'PATCH',
    json: { resolved },
  });

export const deleteComment = (tenant: string, id: string, comment: string) =>
  send(draftPath(tenant, id, `/comments/${encodeURIComponent(comment)}`), { method: 'DELETE' });

/** @throws ApiError with status 412 when a reviewed change differs by now */
export const mergeDraft = (tenant: string, id: string, review: string, resolutions: ResolutionInput[]) =>
  sendJson<MergedDraft>(draftPath(tenant, id, '/merge'), { method: 'POST', json: { review, resolutions } });

/** @throws ApiError with status 412 when the draft or the original changed after the review */
export const replaceByDraft = (tenant: string, id: string, review: string) =>
  sendRequest<MergedDraft>(replacement(tenant, id, review));

export const replacement = (tenant: string, id: string, review: string) =>
  post(draftPath(tenant, id, '/replace'), { review });

export const rejection = (tenant: string, id: string) => post(draftPath(tenant, id, '/close'));
export const closeDraft = (tenant: string, id: string) => sendRequest<Draft>(rejection(tenant, id));
