import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Database } from '../database/database.ts';
import { closeDraft } from '../drafts/close.ts';
import { compareDraft, loadedSide } from '../drafts/compare.ts';
import { readTexts, type SideTexts } from '../drafts/contents.ts';
import { createDraft } from '../drafts/create.ts';
import { type Draft, type DraftFilter, findDraft, listDrafts } from '../drafts/drafts.ts';
import { MergeThreads } from '../drafts/line-merge.ts';
import { type Merged, type MergeOptions, mergeDraft, replaceByDraft } from '../drafts/merge.ts';
import type { Resolution } from '../drafts/merge-file.ts';
import { type ChangeRecord, changeRecords, draftRecords, mergedFiles } from '../drafts/records.ts';
import { pathOf } from '../drafts/review.ts';
import { changeOf, isTouched, type ThreeWay } from '../drafts/three-way.ts';
import { OperatorError } from '../errors/errors.ts';
import { compare, reasonOf } from '../history/patch.ts';
import { batches } from '../lib/pages.ts';
import { amount } from '../lib/units.ts';
import { actorText } from '../memory/origin.ts';
import type { MemoryPath } from '../memory/path.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { memoryPath, nameOf, TIME_HELP, tenantId, timeArgument, timesOf } from './arguments.ts';
import { type Io, print } from './io.ts';
import { formatJson, patchText, printJson, printLine, printTable, shown, time } from './output.ts';
import { audited, type Open, operatorOrigin, withDatabase } from './session.ts';

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

/** `drafts create|list|show|diff|merge|replace|reject`. */
export function registerDraftCommands(program: Command, open: Open, io: Io = process): void {
  const drafts = program
    .command('drafts')
    .description('Propose changes to a memory in a draft, review them, and merge them.');
  registerCreateCommand(drafts, open, io);
  registerListCommand(drafts, open, io);
  registerShowCommand(drafts, open, io);
  registerDraftDiffCommand(drafts, open, io);
  registerDraftMergeCommands(drafts, open, io);
  registerRejectCommand(drafts, open, io);
}

function registerCreateCommand(drafts: Command, open: Open, io: Io): void {
  drafts
    .command('create')
    .description(
      'Create a draft, a copy of the memory to work on, and print its ID. Use the ID like that of a tenant, for keys and in all commands for memories.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .requiredOption('--title <text>', 'what it is for', nameOf(200, 1))
    .option('--at <time>', 'start from the memory at this time (default: now)', timeArgument)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${TIME_HELP}\n\nExample:\n  memory-service drafts create acme --title 'Tidy up the notes on travel'`,
    )
    .action((tenant: string, { title, at: given, json }: { title: string; at?: string; json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        const { at } = await timesOf(database, { at: given });
        const draft = await audited({ database, io }, 'createDraft', { tenant }, async (note) => {
          const made = await createDraft(database, config, tenant, {
            title,
            at,
            author: operatorOrigin().actor,
          });
          note({ details: { draft: made.id } });
          return made;
        });
        if (json) return printJson(io.stdout, (await draftRecords(database.query, config, [draft]))[0]);
        printLine(io.stdout, draft.id);
      }),
    );
}

const PAGE = 100;

function registerListCommand(drafts: Command, open: Open, io: Io): void {
  drafts
    .command('list')
    .description('List drafts, the newest first: of a tenant, or of all.')
    .argument('[tenant]', 'tenant ID (default: all tenants)', tenantId)
    .addOption(
      new Option('--state <state>', 'only drafts in this state; closed: any state but open')
        .choices(['open', 'closed', 'merged', 'replaced', 'rejected', 'expired'])
        .default('open'),
    )
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service drafts list acme')
    .action((tenant: string | undefined, { state, json }: Pick<DraftFilter, 'state'> & { json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        if (tenant !== undefined) await requireTenant(database, tenant);
        const found = await readAll(database, { tenant: tenant ?? null, state, scope: null });
        const records = await draftRecords(database.query, config, found);
        if (json) return printJson(io.stdout, records);
        printTable(
          io.stdout,
          ['ID', 'TENANT', 'STATE', 'CHANGED FILES', 'CREATED', 'LAST USED', 'EXPIRES', 'BY', 'TITLE'],
          records.map((draft) => [
            draft.id,
            draft.tenant,
            draft.state,
            draft.changed_files,
            time(draft.created_at),
            time(draft.last_used_at),
            time(draft.expires_at),
            actorText(draft.author),
            draft.title,
          ]),
        );
      }),
    );
}

async function readAll(database: Database, filter: DraftFilter): Promise<Draft[]> {
  const all: Draft[] = [];
  for (let after: Awaited<ReturnType<typeof listDrafts>>['next'] = null; ; ) {
    const { drafts, next } = await listDrafts(database, filter, after, PAGE);
    all.push(...drafts);
    if (next === null) return all;
    after = next;
  }
}

function registerShowCommand(drafts: Command, open: Open, io: Io): void {
  drafts
    .command('show')
    .description(
      'Show a draft, and the files that it changed: A added, M modified, R renamed, D deleted; next to each, what has happened to it in the memory since. Pass the review that it prints to `merge` or `replace`.',
    )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<draft>', 'ID of the draft, from `drafts list`')
    .option('--all', 'also list files that only the memory changed')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExample:\n  memory-service drafts show acme draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f',
    )
    .action((tenant: string, id: string, { all = false, json }: { all?: boolean; json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        const draft = await findDraft(database.query, tenant, id);
        const [record] = await draftRecords(database.query, config, [draft]);
        if (draft.state !== 'open') {
          if (json) return printJson(io.stdout, record);
          return printDraft(io, draft, null);
        }
        const threads = new MergeThreads();
        try {
          const compared = await compareDraft(database, threads, { tenant, draft: id });
          const changes = (await changeRecords(compared)).filter((each) => all || each.in_draft !== null);
          const { review } = compared;
          if (json) return printJson(io.stdout, { draft: record, review, changes });
          printDraft(io, draft, record?.expires_at ?? null);
          for (const change of changes) printLine(io.stdout, changeLine(io, change));
          const conflicts = changes.filter(({ conflict }) => conflict !== null).length;
          const counted = `${amount(changes.length, 'changed file')}, ${amount(conflicts, 'conflict')}`;
          printLine(io.stderr, `${counted}. Review: ${review}`);
        } finally {
          await threads.close();
        }
      }),
    );
}

function printDraft({ stdout }: Io, draft: Draft, expiresAt: string | null): void {
  printLine(stdout, `${draft.id}  ${shown(stdout, draft.title)}`);
  const made = `created ${time(draft.createdAt)} by ${shown(stdout, actorText(draft.author))}, from ${time(draft.baseAt)}`;
  const end =
    draft.closedBy === null
      ? ''
      : `, ${draft.state} ${time(draft.closedAt)} by ${shown(stdout, actorText(draft.closedBy))}`;
  const expiry = expiresAt === null ? '' : `, expires ${time(expiresAt)} if nobody uses it`;
  printLine(stdout, `${draft.state}: ${made}${end}${expiry}`);
}

export const LETTERS = { added: 'A', changed: 'M', moved: 'R', deleted: 'D' } as const;

function changeLine({ stdout }: Io, change: ChangeRecord): string {
  const { in_draft: inDraft, in_original: inOriginal, base, path, conflict } = change;
  const isMoved = inDraft === 'moved' && base !== null;
  const where = isMoved ? `${base.path} -> ${path}` : path;
  const letters = `${inDraft === null ? '-' : LETTERS[inDraft]}${inOriginal === null ? ' ' : LETTERS[inOriginal]}`;
  const why = conflict === null ? '' : `  CONFLICT: ${conflictText(change)}`;
  return shown(stdout, `${letters} ${where}${why}${blockedByText(change)}`);
}

/** What taking the draft removes, or makes what the draft has. */
function blockedByText({ blocked_by: found }: ChangeRecord): string {
  if (found === null) return '';
  const { path, files, file_count: count } = found;
  const named = files.slice(0, 3).join(', ');
  const more = count > 3 ? ` and ${count - 3} more` : '';
  return `  BLOCKED BY: ${count === 0 ? path : `${named}${more}`}`;
}

function conflictText({ conflict }: ChangeRecord): string {
  switch (conflict) {
    case 'content':
      return 'both changed the same lines';
    case 'path':
      return 'both moved it, to different paths';
    case 'deleted_in_draft':
      return 'deleted in the draft, changed in the memory';
    case 'deleted_in_original':
      return 'changed in the draft, deleted in the memory';
    default:
      return 'something else is in its place in the memory';
  }
}

function registerRejectCommand(drafts: Command, open: Open, io: Io): void {
  drafts
    .command('reject')
    .description('Reject a draft. Only its record remains.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<draft>', 'ID of the draft')
    .addHelpText(
      'after',
      '\nExample:\n  memory-service drafts reject acme draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f',
    )
    .action((tenant: string, id: string) =>
      withDatabase(open, async ({ database }) => {
        await audited({ database, io }, 'closeDraft', { tenant, details: { draft: id } }, () =>
          closeDraft(database, { tenant, draft: id }, { state: 'rejected', by: operatorOrigin().actor }),
        );
        printLine(io.stderr, `Rejected ${id}.`);
      }),
    );
}
