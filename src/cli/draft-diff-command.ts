import type { Command } from 'commander';
import { compareDraft } from '../drafts/compare.ts';
import { readTexts, type SideTexts } from '../drafts/contents.ts';
import { MergeThreads } from '../drafts/line-merge.ts';
import { loadedSide } from '../drafts/sides.ts';
import { changeOf, type ThreeWay } from '../drafts/three-way.ts';
import { compare, reasonOf } from '../history/patch.ts';
import type { MemoryPath } from '../memory/path.ts';
import { batches } from '../util/batches.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { type Io, print } from './io.ts';
import { patchText } from './output.ts';
import { type Open, withDatabase } from './session.ts';

const BATCH = { items: 100, weight: 4 * 1024 * 1024 };

/** `drafts diff`. */
export function registerDraftDiffCommand(drafts: Command, open: Open, io: Io): void {
  drafts
    .command('diff')
    .description('Show what a draft changed since its base, as a unified diff.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<draft>', 'ID of the draft')
    .argument('[path]', 'only this file', memoryPath)
    .option('--original', 'show what the memory changed since the base of the draft instead')
    .addHelpText(
      'after',
      '\nExample:\n  memory-service drafts diff acme draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f',
    )
    .action(
      (tenant: string, draft: string, path: MemoryPath | undefined, { original }: { original?: boolean }) =>
        withDatabase(open, async ({ database }) => {
          const threads = new MergeThreads();
          const side = original ? 'original' : 'draft';
          try {
            const ids = { tenant, draft };
            const { files, same } = await compareDraft(database, threads, ids);
            const changed = files.filter(
              (file) =>
                changeOf(file.base, file[side], same) !== null && (path === undefined || isAt(file, path)),
            );
            const read = (batch: ThreeWay[]) => readTexts(database.query, ids, batch);
            await print(io.stdout, patches(io, changed, side, read));
          } finally {
            await threads.close();
          }
        }),
    );
}

function isAt(file: ThreeWay, path: MemoryPath): boolean {
  return [file.base, file.draft, file.original].some((side) => side?.path === path);
}

async function* patches(
  { stdout }: Io,
  files: ThreeWay[],
  side: 'draft' | 'original',
  read: (files: ThreeWay[]) => Promise<Map<string, SideTexts>>,
): AsyncGenerator<string> {
  const pathOfSide = (file: ThreeWay) => (file[side] ?? file.base)?.path ?? '';
  const sorted = [...files].sort((a, b) => (pathOfSide(a) < pathOfSide(b) ? -1 : 1));
  const weightOf = ({ draft, original }: ThreeWay) =>
    (draft?.sizeBytes ?? 0) + 2 * (original?.sizeBytes ?? 0);
  async function* all() {
    yield* sorted;
  }
  for await (const batch of batches(all(), { ...BATCH, weightOf })) {
    const texts = await read(batch);
    for (const file of batch) {
      const of = texts.get(file.id);
      if (of === undefined) continue;
      const [before, after] = [loadedSide(file, of, 'base'), loadedSide(file, of, side)];
      const { patch } = compare(before, after);
      if (patch === undefined) yield `(${pathOfSide(file)}: no diff: ${reasonOf(before, after)})\n`;
      else yield patchText(stdout, patch);
    }
  }
}
