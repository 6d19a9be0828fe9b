import { z } from 'zod';
import { actor, tenantId, tenantParams, time } from '../../../core/admin/fields.ts';
import { ServiceError } from '../../../core/errors/errors.ts';

const EXAMPLE_DRAFT = 'draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f';
const EXAMPLE_REVIEW = '1795420800123456-1795420800123457-5feceb66ffc86f38d952786c6d696c79c2dbc239';

const id = z.guid();
const draftId = z.string().meta({ examples: [EXAMPLE_DRAFT] });
const path = z.string();
const counted = z.int().min(0);

export const draftParams = tenantParams.extend({
  draft: z
    .string()
    .regex(/^draft_[0-9a-f]{32}$/, 'must be the id of a draft')
    .meta({ examples: [EXAMPLE_DRAFT] }),
});

export const stateFilter = z
  .enum(['open', 'closed', 'merged', 'replaced', 'rejected', 'expired'])
  .default('open')
  .meta({ description: '`closed`: in any other state than open.' });

export const review = z
  .string()
  .min(1)
  .max(100)
  .meta({
    description:
      'The `review` from the comparison that was reviewed. If the comparison has changed since, ' +
      'the draft is not merged, and the response is a 412 that names the changes.',
    examples: [EXAMPLE_REVIEW],
  });

export const draftSchema = z
  .object({
    id: draftId,
    tenant: tenantId,
    title: z.string(),
    author: actor.meta({ description: 'The actor that created the draft.' }),
    key_id: z
      .string()
      .nullable()
      .meta({ description: 'The key whose writes go into this draft; null if there is none.' }),
    via_tenant: tenantId.nullable().meta({
      description:
        "The tenant through whose mount the writes come; null for other drafts, and outside an admin key's scope.",
    }),
    state: z.enum(['open', 'merged', 'replaced', 'rejected', 'expired']),
    base_at: time.meta({ description: 'It started from the memory at this time.' }),
    created_at: time,
    closed_at: time.nullable(),
    closed_by: actor.nullable(),
    merged_at: time.nullable().meta({
      description:
        'The time of all versions that the merge created. With this time as `since` and `until`, and ' +
        "the draft's ID as `by`, a revert undoes the merge alone.",
    }),
    files: counted
      .nullable()
      .meta({ description: 'Number of files in the draft; null once the draft is closed.' }),
    bytes: counted.nullable(),
    changed_files: counted
      .nullable()
      .meta({ description: 'Number of files that the draft has added, changed, moved, or deleted.' }),
    changed_in_both: counted.nullable().meta({
      description:
        'Number of files that the draft has changed, moved, or deleted, and the original has since, too: they may be in conflict. Null once the draft is closed, and with more than 1,000 changed files.',
    }),
    comments: counted.meta({ description: 'Number of comments.' }),
    open_comments: counted.meta({ description: 'Number of comments that are not resolved.' }),
    review_request: z
      .object({ reviewer: z.string(), by: actor, at: time })
      .nullable()
      .meta({ description: 'The latest request for a review: an open comment with a `reviewer`.' }),
    last_change_at: time.nullable(),
    last_used_at: time.nullable().meta({
      description: 'When it was created, last read or last written. Reads count to the day.',
    }),
    expires_at: time.nullable().meta({
      description:
        'It is closed within an hour after this time, unless it is used before. Null if it is closed or never expires.',
    }),
  })
  .meta({ id: 'Draft' });

const changeKind = z.enum(['added', 'changed', 'moved', 'deleted']);

const side = z
  .object({ path, version: id, size_bytes: counted })
  .nullable()
  .meta({ description: 'The file on this side; null where it is not there.' });

export const draftChangeSchema = z
  .object({
    memory_id: id.meta({ description: 'Identifies the file in this comparison, and in `resolutions`.' }),
    path: path.meta({ description: 'Its path in the draft if it exists there, otherwise in the original.' }),
    changed_in: z.enum(['draft', 'original', 'both']),
    in_draft: changeKind.nullable().meta({ description: "The draft's change since the base." }),
    in_original: changeKind.nullable().meta({ description: "The original's change since the base." }),
    content_changed: z.boolean().meta({
      description: 'Whether the draft changed the content, which it may do to a moved file as well.',
    }),
    conflict: z
      .enum(['content', 'path', 'deleted_in_draft', 'deleted_in_original', 'occupied'])
      .nullable()
      .meta({
        description:
          'The reason for the conflict: both sides changed the same lines, both moved the file to different paths, one side deleted a file that the other changed, or its path is occupied.',
      }),
    blocked_by: z
      .object({
        path: path.meta({ description: 'A file, or a directory with all that is in it.' }),
        file_count: counted,
        files: z.array(path).meta({ description: 'The first 100 files.' }),
      })
      .nullable()
      .meta({
        description:
          "Files and directories in the original that occupy or block the file's path. If you resolve " +
          'the file with `draft`, only these files are replaced by their version in the draft, or ' +
          'deleted.',
      }),
    base: z
      .object({ path, version: id })
      .nullable()
      .meta({ description: 'The file that both sides began with; null for one that is new.' }),
    draft: side,
    original: side,
  })
  .meta({ id: 'DraftChange' });

export const mergedSchema = z
  .object({
    draft: draftSchema,
    merged_at: time.nullable().meta({ description: 'Null if the memory already matched the draft.' }),
    files: z.array(z.object({ memory_id: id, change: changeKind, path, from: path.nullable() })).meta({
      description: "The changes to the memory's files. `from`: a moved file's previous path.",
    }),
    directories_made: z.array(path),
    directories_removed: z.array(path),
  })
  .meta({ id: 'MergedDraft' });

export const noSuchDraft = new ServiceError('no_such_draft', 'acme', EXAMPLE_DRAFT);
export const draftClosed = new ServiceError('draft_closed', EXAMPLE_DRAFT, 'merged');
