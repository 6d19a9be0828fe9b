import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { compareDraft } from '../drafts/compare.ts';
import { MergeThreads } from '../drafts/line-merge.ts';
import { type Merged, type MergeOptions, mergeDraft, replaceByDraft } from '../drafts/merge.ts';
import type { Resolution } from '../drafts/merge-file.ts';
import { draftRecords, mergedFiles } from '../drafts/records.ts';
import { pathOf } from '../drafts/review.ts';
import { isTouched } from '../drafts/three-way.ts';
import { OperatorError } from '../errors.ts';
import type { Database } from '../postgres/database.ts';
import { amount } from '../util/amount.ts';
import { memoryPath, tenantId } from './arguments.ts';
import { type Io, print } from './io.ts';
import { formatJson, printLine, shown } from './output.ts';
import { audited, type Open, operatorOrigin, withDatabase } from './session.ts';

interface Given {
  review: string;
  take?: [path: string, Resolution][];
  text?: [path: string, file: string][];
  json?: boolean;
}

const REVIEW = [
  '--review <review>',
  'the review that `drafts show` printed; fails if anything has changed since',
] as const;

/** `drafts merge` and `drafts replace`. */
export function registerDraftMergeCommands(drafts: Command, open: Open, io: Io): void {
  drafts
    .command('merge')
    .description(
      'Merge a draft into its memory, and close it. Changes made on one side only are applied, and changes to different lines of a file are combined. Settle each conflict with --take or --text.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<draft>', 'ID of the draft')
    .requiredOption(...REVIEW)
    .option('--take <path=side>', 'settle a file: take the side draft or original', takeArgument)
    .option('--text <path=file>', 'settle a file with the content of a local file', textArgument)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Examples:
  memory-service drafts merge acme draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f --review 1795420800123456-1795420800123457-5feceb66…
  memory-service drafts merge acme draft_6f1c… --review … --take /memories/a.md=draft --text /memories/b.md=merged.md`,
    )
    .action((tenant: string, draft: string, given: Given) =>
      finish(
        open,
        io,
        { tenant, draft, name: 'mergeDraft', verb: 'Merged' },
        given,
        async (database, options) => {
          const resolutions = await readResolutions(database, options.threads, { tenant, draft }, given);
          return mergeDraft(database, { tenant, draft }, resolutions, options);
        },
      ),
    );

  drafts
    .command('replace')
    .description(
      'Make a memory identical to its draft, and close the draft: changes made in the memory since are undone.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<draft>', 'ID of the draft')
    .requiredOption(...REVIEW)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  memory-service drafts replace acme draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f --review 1795420800123456-1795420800123457-5feceb66…',
    )
    .action((tenant: string, draft: string, given: Given) =>
      finish(
        open,
        io,
        { tenant, draft, name: 'replaceByDraft', verb: 'Replaced by' },
        given,
        (database, options) => replaceByDraft(database, { tenant, draft }, options),
      ),
    );
}

function finish(
  open: Open,
  io: Io,
  { tenant, draft, name, verb }: { tenant: string; draft: string; name: string; verb: string },
  { review, json }: Given,
  work: (database: Database, options: MergeOptions) => Promise<Merged>,
): Promise<void> {
  return withDatabase(open, async ({ config, database }) => {
    const threads = new MergeThreads();
    const options = { config, threads, approver: operatorOrigin().actor, review };
    try {
      const merged = await audited({ database, io }, name, { tenant, details: { draft } }, () =>
        work(database, options),
      );
      const files = await mergedFiles(merged.changes);
      if (json) {
        const [record] = await draftRecords(database.query, config, [merged.draft]);
        return await print(io.stdout, [formatJson({ draft: record, merged_at: merged.mergedAt, files })]);
      }
      await print(
        io.stdout,
        files.map(({ change, path, from }) =>
          shown(io.stdout, `${LETTERS[change]} ${from === null ? path : `${from} -> ${path}`}\n`),
        ),
      );
      const at = merged.mergedAt;
      printLine(io.stderr, `${verb} ${draft}: ${amount(files.length, 'file')} changed.`);
      if (at !== null) {
        printLine(
          io.stderr,
          `Undo it with: memory-service revert ${tenant} --by ${draft} --since ${at} --until ${at}`,
        );
      }
    } finally {
      await threads.close();
    }
  });
}

const LETTERS = { added: 'A', changed: 'M', moved: 'R', deleted: 'D' } as const;

/** The files are named by paths here: in the draft, or else in the memory. */
async function readResolutions(
  database: Database,
  threads: MergeThreads,
  ids: { tenant: string; draft: string },
  { take = [], text = [] }: Given,
): Promise<Map<string, Resolution>> {
  const resolutions = new Map<string, Resolution>();
  if (take.length + text.length === 0) return resolutions;
  const { files } = await compareDraft(database, threads, ids);
  const touched = files.filter(isTouched);
  // A file that is in the draft goes by its path there, even if another one is at that path in the memory.
  const inDraftLast = touched.toSorted((a, b) => Number(a.draft !== null) - Number(b.draft !== null));
  const byPath = new Map(inDraftLast.map((file) => [pathOf(file), file.id]));
  const settle = (path: string, resolution: Resolution) => {
    const id = byPath.get(path);
    if (id === undefined) {
      throw new OperatorError(
        `${path} was not changed in the draft. See: memory-service drafts show ${ids.tenant} ${ids.draft}`,
      );
    }
    resolutions.set(id, resolution);
  };
  for (const [path, resolution] of take) settle(path, resolution);
  for (const [path, file] of text) settle(path, { text: await readText(file) });
  return resolutions;
}

async function readText(file: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(file));
  } catch (error) {
    const why = error instanceof TypeError ? 'it is not UTF-8' : (error as NodeJS.ErrnoException).code;
    throw new OperatorError(`Cannot read ${file}: ${why}.`);
  }
}

/** Paths may contain `=`, so what follows the last one is the value. */
function assignment(given: string): [path: string, value: string] {
  const at = given.lastIndexOf('=');
  if (at === -1) throw new InvalidArgumentError('Use a path, = and a value.');
  return [memoryPath(given.slice(0, at)), given.slice(at + 1)];
}

function takeArgument(given: string, before: [string, Resolution][] = []): [string, Resolution][] {
  const [path, side] = assignment(given);
  if (side !== 'draft' && side !== 'original')
    throw new InvalidArgumentError('Use /memories/…=draft or /memories/…=original.');
  return [...before, [path, side]];
}

function textArgument(given: string, before: [string, string][] = []): [string, string][] {
  return [...before, assignment(given)];
}
