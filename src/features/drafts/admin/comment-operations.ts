import { z } from 'zod';
import { noSuchTenant } from '../../../core/admin/admin-errors.ts';
import { defineOperation } from '../../../core/admin/admin-operation.ts';
import { actor, text, time, versionId } from '../../../core/admin/fields.ts';
import { ServiceError } from '../../../core/errors/errors.ts';
import { nameText } from '../../../core/lib/text-forms.ts';
import {
  addComment,
  type DraftComment,
  deleteComment,
  listComments,
  MAX_COMMENT,
  MAX_COMMENTS,
  resolveComment,
} from '../comments.ts';
import { draftClosed, draftParams, noSuchDraft } from './draft-schemas.ts';

/** Maximum line number. No file has as many lines. */
const MAX_LINE = 100_000_000;
const EXAMPLE = '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52';

const lineNumber = z.int().min(1).max(MAX_LINE);

const commentSchema = z
  .object({
    id: z.guid(),
    author: actor,
    created_at: time,
    memory_id: z.guid().nullable().meta({ description: 'The file that it is about; null: the whole draft.' }),
    line: lineNumber.nullable().meta({ description: "The line in the draft's file; null: the whole file." }),
    reviewer: z.string().nullable().meta({ description: 'The person whose review the comment requests.' }),
    text: z.string(),
    resolved: z
      .object({ by: actor, at: time })
      .nullable()
      .meta({ description: 'The actor and time of the resolution; null while the comment is open.' }),
  })
  .meta({ id: 'DraftComment' });

function commentRecord({ createdAt, memoryId, line, reviewer, author, resolved, ...comment }: DraftComment) {
  return {
    ...comment,
    author: author as z.input<typeof actor>,
    created_at: createdAt,
    memory_id: memoryId,
    line: line ?? null,
    reviewer: reviewer ?? null,
    resolved: (resolved as z.input<typeof commentSchema>['resolved']) ?? null,
  };
}

export const listDraftComments = defineOperation({
  id: 'listDraftComments',
  method: 'GET',
  url: '/tenants/:tenant/drafts/:draft/comments',
  summary: "List the reviewers' comments on a draft, oldest first",
  description: 'A closed draft has none: its comments are deleted with its files.',
  tag: 'drafts',
  params: draftParams,
  response: { description: 'The comments.', schema: z.object({ comments: z.array(commentSchema) }) },
  errors: [noSuchTenant, noSuchDraft],
  async run({ database, params: { tenant, draft } }) {
    return { comments: (await listComments(database, { tenant, draft })).map(commentRecord) };
  },
});

export const addDraftComment = defineOperation({
  id: 'addDraftComment',
  method: 'POST',
  url: '/tenants/:tenant/drafts/:draft/comments',
  summary: 'Add a comment to an open draft, for other reviewers',
  description: `Agents do not see comments. A draft has up to ${MAX_COMMENTS} comments. A redaction or an erasure in the tenant deletes the comments that can quote the text.`,
  tag: 'drafts',
  params: draftParams,
  body: z.strictObject({
    text: text(MAX_COMMENT)
      .min(1)
      .meta({ examples: ['Why does this drop the rule on refunds?'] }),
    memory_id: versionId.optional().meta({ description: 'The ID of a file in the comparison.' }),
    line: lineNumber.optional().meta({
      description: "A line number in the draft's file. Ignored without `memory_id`.",
      examples: [12],
    }),
    reviewer: nameText(200)
      .min(1)
      .optional()
      .meta({
        description: 'A name. The comment then requests a review by this person, until it is resolved.',
        examples: ['anna'],
      }),
  }),
  status: 201,
  response: { description: 'The comment.', schema: commentSchema },
  errors: [
    noSuchTenant,
    noSuchDraft,
    draftClosed,
    new ServiceError('no_such_file_in_draft', 'draft_6f1c', EXAMPLE),
    new ServiceError('too_many_comments', 'draft_6f1c', MAX_COMMENTS),
  ],
  async run({ database, params: { tenant, draft }, body, administrator, note }) {
    const line = body.memory_id === undefined ? undefined : body.line;
    const comment = await addComment(
      database,
      { tenant, draft },
      {
        author: administrator.actor,
        memoryId: body.memory_id ?? null,
        line,
        reviewer: body.reviewer,
        text: body.text,
      },
    );
    note({ details: { draft, comment: comment.id } });
    return commentRecord(comment);
  },
});

export const resolveDraftComment = defineOperation({
  id: 'resolveDraftComment',
  method: 'PATCH',
  url: '/tenants/:tenant/drafts/:draft/comments/:comment',
  summary: 'Resolve a comment on a draft, or open it again',
  tag: 'drafts',
  params: draftParams.extend({ comment: versionId }),
  body: z.strictObject({ resolved: z.boolean() }),
  response: { description: 'The comment.', schema: commentSchema },
  errors: [noSuchTenant, noSuchDraft, new ServiceError('no_such_comment', 'draft_6f1c', EXAMPLE)],
  async run({ database, params: { tenant, draft, comment }, body: { resolved }, administrator, note }) {
    note({ details: { draft, comment, resolved } });
    const by = resolved ? administrator.actor : null;
    return commentRecord(await resolveComment(database, { tenant, draft }, comment, by));
  },
});

export const deleteDraftComment = defineOperation({
  id: 'deleteDraftComment',
  method: 'DELETE',
  url: '/tenants/:tenant/drafts/:draft/comments/:comment',
  summary: 'Delete a comment on a draft',
  description: 'A key with `operate` access deletes its own comments only.',
  tag: 'drafts',
  params: draftParams.extend({ comment: versionId }),
  response: { description: 'Deleted.', schema: z.object({ id: z.guid() }) },
  errors: [
    noSuchTenant,
    noSuchDraft,
    new ServiceError('no_such_comment', 'draft_6f1c', EXAMPLE),
    new ServiceError('comment_of_another'),
  ],
  async run({ database, params: { tenant, draft, comment }, administrator, note }) {
    note({ details: { draft, comment } });
    const author = administrator.access === 'read_write' ? null : administrator.actor;
    await deleteComment(database, { tenant, draft }, comment, author);
    return { id: comment };
  },
});
