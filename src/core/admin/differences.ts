import { z } from 'zod';
import type { Difference } from '../history/patch.ts';

const id = z.guid();

export const differenceSchema = z
  .object({
    old_path: z.string().nullable(),
    path: z.string().nullable(),
    old_version: id.nullable(),
    version: id.nullable(),
    patch: z
      .string()
      .nullable()
      .meta({
        description:
          'In `git diff` format. Texts that differ too much to compare appear as replaced: all old ' +
          'lines removed, all new lines added.',
      }),
    no_patch_reason: z.string().nullable().meta({
      description:
        'The reason for a missing patch: a version was redacted, pruned, or is too large to compare.',
    }),
  })
  .meta({ id: 'Difference' });

export function differenceRecord({ oldPath, path, oldVersion, version, patch, noPatchReason }: Difference) {
  return { old_path: oldPath, path, old_version: oldVersion, version, patch, no_patch_reason: noPatchReason };
}
