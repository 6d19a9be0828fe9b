import { z } from 'zod';
import { noSuchTenant } from '../../../core/admin/admin-errors.ts';
import { defineOperation } from '../../../core/admin/admin-operation.ts';
import { differenceRecord, differenceSchema } from '../../../core/admin/differences.ts';
import { flag, next, pageFields, readCursor, versionId, writeCursor } from '../../../core/admin/fields.ts';
import { ServiceError } from '../../../core/errors/errors.ts';
import { allInConflict, type MergeThreads } from '../../../core/history/line-merge.ts';
import { needsLines } from '../../../core/history/merge-file.ts';
import type { Region } from '../../../core/history/merge-lines.ts';
import { findDifference } from '../../../core/history/patch.ts';
import { currentComparison, loadedSide } from '../compare.ts';
import { NO_TEXTS, readTexts, type SideTexts } from '../contents.ts';
import { changeRecords, draftRecord } from '../records.ts';
import {
  draftChangeSchema,
  draftClosed,
  draftParams,
  draftSchema,
  noSuchDraft,
  review,
} from './draft-schemas.ts';

const counted = z.int().min(0);
const path = z.string();
const position = z.strictObject({ skip: z.int().min(0) });

const regionSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('merged'), text: z.string() }),
  z.object({ kind: z.literal('conflict'), base: z.string(), draft: z.string(), original: z.string() }),
]);

const textOrNull = z.string().nullable();

export const compareTenantDraft = defineOperation({
  id: 'compareDraft',
  method: 'GET',
  url: '/tenants/:tenant/drafts/:draft/changes',
  summary: 'List the files that changed in the draft, in the original, or in both, a page at a time',
  description:
    'Files are compared by identity: a moved file is the same file. Each page shows the state at the time of its request, and `review` identifies that state.',
  tag: 'drafts',
  params: draftParams,
  query: z.strictObject({
    changed_in: z.enum(['draft', 'original', 'both']).optional(),
    only_conflicts: flag.default(false),
    ...pageFields(1000, 200),
  }),
  response: {
    description: 'A page.',
    schema: z.object({
      draft: draftSchema,
      review,
      counts: z.object({
        draft: counted.meta({ description: 'Files that only the draft changed.' }),
        original: counted,
        both: counted,
        conflicts: counted,
      }),
      directories_made: z.array(path).meta({ description: 'By a merge without conflicts.' }),
      directories_removed: z.array(path),
      changes: z.array(draftChangeSchema),
      next,
    }),
  },
  errors: [noSuchTenant, noSuchDraft, draftClosed],
  isHeavy: true,
  async run({ config, database, merges, params: { tenant, draft }, query }) {
    const { changed_in: changedIn, only_conflicts: onlyConflicts, limit, after } = query;
    const skip = readCursor(position, after)?.skip ?? 0;
    const compared = await currentComparison(database, merges, { tenant, draft });
    const all = await changeRecords(compared);
    const isIn = (side: string) => all.filter((each) => each.changed_in === side).length;
    const chosen = all.filter(
      (each) =>
        (changedIn === undefined || each.changed_in === changedIn) &&
        (!onlyConflicts || each.conflict !== null),
    );
    const { made, removed, conflicts } = compared.plan;
    return {
      draft: await draftRecord(database.query, config, compared.draft),
      review: compared.review,
      counts: {
        draft: isIn('draft'),
        original: isIn('original'),
        both: isIn('both'),
        conflicts: conflicts.size,
      },
      directories_made: made,
      directories_removed: removed,
      changes: chosen.slice(skip, skip + limit),
      next: writeCursor(skip + limit < chosen.length ? { skip: skip + limit } : null),
    };
  },
});

export const diffDraft = defineOperation({
  id: 'diffDraft',
  method: 'GET',
  url: '/tenants/:tenant/drafts/:draft/diff',
  summary: "Show both sides' changes to a file, and their combination",
  tag: 'drafts',
  params: draftParams,
  query: z.strictObject({
    memory_id: versionId.meta({ description: 'The ID of a file in the comparison.' }),
  }),
  response: {
    description: 'The file.',
    schema: z.object({
      review,
      change: draftChangeSchema,
      draft: differenceSchema.meta({ description: 'From the base to the draft.' }),
      original: differenceSchema.meta({ description: 'From the base to the original.' }),
      texts: z
        .object({ base: textOrNull, draft: textOrNull, original: textOrNull })
        .meta({ description: 'Null where there is no file, or its content is no longer kept.' }),
      regions: z.array(regionSchema).nullable().meta({
        description:
          'If both sides changed the content: the file in parts, merged or in conflict. To resolve it with a text, join these parts, with a replacement for each conflict. Null otherwise.',
      }),
    }),
  },
  errors: [
    noSuchTenant,
    noSuchDraft,
    draftClosed,
    new ServiceError('no_such_draft_file', 'draft_6f1c', '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52'),
  ],
  isHeavy: true,
  async run({ database, merges, compare, params: { tenant, draft }, query: { memory_id: memoryId } }) {
    const ids = { tenant, draft };
    const compared = await currentComparison(database, merges, ids);
    const change = (await changeRecords(compared)).find((each) => each.memory_id === memoryId);
    const file = compared.files.find(({ id }) => id === memoryId);
    if (change === undefined || file === undefined)
      throw new ServiceError('no_such_draft_file', draft, memoryId);
    const texts = (await readTexts(database.query, ids, [file])).get(file.id) ?? NO_TEXTS;
    const difference = async (side: 'draft' | 'original') =>
      differenceRecord(
        await findDifference(
          {
            change: {
              before: { kind: 'absent' },
              after: { kind: 'absent' },
              oldVersion: file.base?.versionId ?? null,
              newVersion: file[side]?.versionId ?? null,
            },
            before: loadedSide(file, texts, 'base'),
            after: loadedSide(file, texts, side),
          },
          compare,
        ),
      );
    return {
      review: compared.review,
      change,
      texts,
      draft: await difference('draft'),
      original: await difference('original'),
      regions: needsLines(file, compared.same) ? await mergeRegions(merges, texts) : null,
    };
  },
});

async function mergeRegions(merges: MergeThreads, { base, draft, original }: SideTexts): Promise<Region[]> {
  if (base === null) return allInConflict({ base: '', draft: draft ?? '', original: original ?? '' });
  return merges.merge({ base, draft: draft ?? '', original: original ?? '' });
}
