import { randomUUID } from 'node:crypto';
import type { Database } from '../../core/database/database.ts';
import { defineQuery } from '../../core/database/query.ts';
import { ServiceError } from '../../core/errors/errors.ts';
import type { Actor } from '../../core/memory/origin.ts';
import type { DraftIds } from './contents.ts';
import { findDraft, findOpenDraft } from './drafts.ts';

/*
 * Reviewers' comments on an open draft. Comments belong to the draft's record, and are deleted when the draft is
 * closed, because a comment can quote the draft's files.
 */

export const MAX_COMMENTS = 100;
/** Maximum comment length in characters. */
export const MAX_COMMENT = 2000;

/** A comment as stored in `drafts.comments`, which is JSON. */
export interface DraftComment {
  id: string;
  author: Actor;
  createdAt: string;
  /** The commented file's ID; null if the comment is about the whole draft. */
  memoryId: string | null;
  /** Line number in the draft's file; missing if the comment is about the whole file. */
  line?: number | undefined;
  /** Name of the person whose review the comment requests. */
  reviewer?: string | undefined;
  text: string;
  /** Present if the comment is resolved. */
  resolved?: { by: Actor; at: string };
}

const listCommentsQuery = defineQuery<{ tenant: string; draft: string }, { comments: string }>(
  'list_draft_comments',
  'SELECT comments::text AS comments FROM drafts WHERE tenant_id = $tenant AND id = $draft',
);

const addCommentQuery = defineQuery<
  { tenant: string; draft: string; comment: string; max: number },
  { id: string }
>(
  'add_draft_comment',
  `
UPDATE drafts SET comments = comments || $comment::text::jsonb
WHERE tenant_id = $tenant AND id = $draft AND state = 'open' AND jsonb_array_length(comments) < $max::integer
RETURNING id
`,
);

const deleteCommentQuery = defineQuery<{ tenant: string; draft: string; comment: string }, { id: string }>(
  'delete_draft_comment',
  `
UPDATE drafts SET comments = (
  SELECT coalesce(jsonb_agg(c.comment ORDER BY c.i), '[]'::jsonb)
  FROM jsonb_array_elements(comments) WITH ORDINALITY AS c (comment, i) WHERE c.comment ->> 'id' <> $comment
)
WHERE tenant_id = $tenant AND id = $draft AND comments @> jsonb_build_array(jsonb_build_object('id', $comment::text))
RETURNING id
`,
);

const resolveCommentQuery = defineQuery<
  { tenant: string; draft: string; comment: string; resolved: string },
  { id: string }
>(
  'resolve_draft_comment',
  `
UPDATE drafts SET comments = (
  SELECT jsonb_agg(
    CASE WHEN c.comment ->> 'id' = $comment THEN (c.comment - 'resolved') || $resolved::text::jsonb ELSE c.comment END
    ORDER BY c.i
  )
  FROM jsonb_array_elements(comments) WITH ORDINALITY AS c (comment, i)
)
WHERE tenant_id = $tenant AND id = $draft AND comments @> jsonb_build_array(jsonb_build_object('id', $comment::text))
RETURNING id
`,
);

const findFileQuery = defineQuery<{ draft: string; memoryId: string }, { id: string }>(
  'find_file_of_draft',
  `
SELECT memory_id::text AS id FROM entries WHERE tenant_id = $draft AND memory_id = $memoryId::text::uuid
UNION ALL
SELECT memory_id::text AS id FROM draft_base WHERE tenant_id = $draft AND memory_id = $memoryId::text::uuid
`,
);

/** Lists a draft's comments, oldest first. A closed draft has no comments. */
export async function listComments({ query }: Database, ids: DraftIds): Promise<DraftComment[]> {
  await findDraft(query, ids.tenant, ids.draft);
  const [row] = (await query(listCommentsQuery, { ...ids })).rows;
  return row === undefined ? [] : JSON.parse(row.comments);
}

/**
 * @throws ServiceError if the draft or the file does not exist, or the draft is closed or has the maximum number of
 * comments
 */
export async function addComment(
  { query }: Database,
  ids: DraftIds,
  { author, memoryId, line, reviewer, text }: Omit<DraftComment, 'id' | 'createdAt' | 'resolved'>,
): Promise<DraftComment> {
  if (memoryId !== null && (await query(findFileQuery, { draft: ids.draft, memoryId })).rows.length === 0) {
    await findOpenDraft(query, ids.tenant, ids.draft);
    throw new ServiceError('no_such_file_in_draft', ids.draft, memoryId);
  }
  const createdAt = new Date().toISOString();
  const comment = { id: randomUUID(), author, createdAt, memoryId, line, reviewer, text };
  const added = await query(addCommentQuery, { ...ids, comment: JSON.stringify(comment), max: MAX_COMMENTS });
  if (added.rows.length > 0) return comment;
  await findOpenDraft(query, ids.tenant, ids.draft);
  throw new ServiceError('too_many_comments', ids.draft, MAX_COMMENTS);
}

/**
 * Resolves a comment, or opens it again.
 *
 * @param by the actor who resolved the comment; null opens it again
 * @throws ServiceError if the draft or the comment does not exist
 */
export async function resolveComment(
  database: Database,
  ids: DraftIds,
  comment: string,
  by: Actor | null,
): Promise<DraftComment> {
  const resolved = by === null ? {} : { resolved: { by, at: new Date().toISOString() } };
  await database.query(resolveCommentQuery, { ...ids, comment, resolved: JSON.stringify(resolved) });
  const found = (await listComments(database, ids)).find(({ id }) => id === comment);
  if (found === undefined) throw new ServiceError('no_such_comment', ids.draft, comment);
  return found;
}

/**
 * @param author the only author whose comment may be deleted; null for any
 * @throws ServiceError if the draft or the comment does not exist, or the comment is by another author
 */
export async function deleteComment(
  database: Database,
  ids: DraftIds,
  comment: string,
  author: Actor | null,
): Promise<void> {
  const { query } = database;
  const found = (await listComments(database, ids)).find(({ id }) => id === comment);
  if (found !== undefined && author !== null && !isSameActor(found.author, author))
    throw new ServiceError('comment_of_another');
  const deleted = await query(deleteCommentQuery, { ...ids, comment });
  if (deleted.rows.length > 0) return;
  await findDraft(query, ids.tenant, ids.draft);
  throw new ServiceError('no_such_comment', ids.draft, comment);
}

function isSameActor(a: Actor, b: Actor): boolean {
  return a.type === b.type && 'id' in a && 'id' in b && a.id === b.id;
}
