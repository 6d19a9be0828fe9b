import { InvalidArgumentError, Option } from 'commander';
import {
  createNameParser,
  memoryPath,
  TIME_HELP,
  tenantId,
  timeArgument,
} from '../../../core/cli/arguments.ts';
import { type Caller, readList } from '../../../core/cli/caller.ts';
import { type Cli, command, group } from '../../../core/cli/cli-command.ts';
import { type Io, print } from '../../../core/cli/io.ts';
import { patchText, printLine, sanitizeForTerminal, table, time } from '../../../core/cli/output.ts';
import {
  findResolutions,
  type Resolutions,
  takeArgument,
  textArgument,
} from '../../../core/cli/resolutions.ts';
import { OperatorError } from '../../../core/errors/errors.ts';
import { amount } from '../../../core/lib/units.ts';
import { actorText, actorTextVia } from '../../../core/memory/origin.ts';
import type { MemoryPath } from '../../../core/memory/path.ts';
import {
  createTenantDraft,
  getDraft,
  listAllDrafts,
  listDrafts,
  rejectDraft,
} from '../admin/draft-operations.ts';
import { mergeTenantDraft, replaceByTenantDraft } from '../admin/merge-operations.ts';
import { compareTenantDraft, diffDraft } from '../admin/review-operations.ts';
import type { DraftFilter } from '../drafts.ts';
import type { ChangeRecord, DraftRecord, mergedFiles } from '../records.ts';

function draftId(value: string): string {
  if (/^draft_[0-9a-f]{32}$/.test(value)) return value;
  throw new InvalidArgumentError('Use the ID of a draft from `memory-service drafts list`.');
}

const diffCommand = (cli: Cli) =>
  command(cli, 'diff', 'Show the changes of a draft since its base, as a unified diff.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<draft>', 'ID of the draft', draftId)
    .argument('[path]', 'only this file', memoryPath)
    .option('--original', 'show the changes of the memory since the base of the draft instead')
    .examples('memory-service drafts diff acme draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f')
    .run(
      async (
        { caller, io },
        tenant: string,
        draft: string,
        path: MemoryPath | undefined,
        { original }: { original?: boolean },
      ) => {
        const side = original ? 'original' : 'draft';
        const { changes } = await readChanges(caller, { tenant, draft });
        const changed = changes.filter(
          (change) =>
            change[`in_${side}`] !== null &&
            (path === undefined ||
              [change.base, change.draft, change.original].some((at) => at?.path === path)),
        );
        await print(io.stdout, patches(caller, { tenant, draft }, changed, side, io));
      },
    );

async function* patches(
  caller: Caller,
  params: { tenant: string; draft: string },
  changes: readonly ChangeRecord[],
  side: 'draft' | 'original',
  { stdout }: Io,
): AsyncGenerator<string> {
  const pathOn = (change: ChangeRecord) => (change[side] ?? change.base)?.path ?? '';
  for (const change of changes.toSorted((a, b) => (pathOn(a) < pathOn(b) ? -1 : 1))) {
    const compared = await caller.call(diffDraft, { params, query: { memory_id: change.memory_id } });
    const { patch, no_patch_reason: reason } = compared[side];
    yield patch === null ? `(${pathOn(change)}: no diff: ${reason})\n` : patchText(stdout, patch);
  }
}

/** Limit on attempts to read all comparison pages. Each attempt fails if one of the sides changes. */
const ATTEMPTS = 3;
const CHANGES_PAGE = 1000;

/** Reads all comparison pages. All pages must show the same state of both sides. */
async function readChanges(caller: Caller, params: { tenant: string; draft: string }) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const first = await caller.call(compareTenantDraft, { params, query: { limit: CHANGES_PAGE } });
    const { review } = first;
    const changes = first.changes;
    let page = first;
    while (page.next !== null && page.review === review) {
      page = await caller.call(compareTenantDraft, {
        params,
        query: { limit: CHANGES_PAGE, after: page.next },
      });
      changes.push(...page.changes);
    }
    if (page.review === review) return { draft: first.draft, review, changes };
  }
  throw new OperatorError('The draft or the memory changes faster than it can be compared. Try again later.');
}

const SIDES = ['draft', 'original'] as const;

interface Given extends Resolutions<(typeof SIDES)[number]> {
  review: string;
}

const REVIEW = [
  '--review <review>',
  'the review that `drafts show` printed; fails if anything has changed since',
] as const;

const mergeCommand = (cli: Cli) =>
  command(
    cli,
    'merge',
    'Merge a draft into its memory, and close it. Changes made on one side only are applied, and changes to different lines of a file are combined. Resolve each conflict with --take or --text.',
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<draft>', 'ID of the draft', draftId)
    .requiredOption(...REVIEW)
    .option('--take <path=side>', 'resolve a file: take the side draft or original', takeArgument(SIDES))
    .option('--text <path=file>', 'resolve a file with the content of a local file', textArgument)
    .option('--json', 'print JSON')
    .examples(
      'memory-service drafts merge acme draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f --review 1795420800123456-1795420800123457-5feceb66…',
      'memory-service drafts merge acme draft_6f1c… --review … --take /memories/a.md=draft --text /memories/b.md=merged.md',
    )
    .run(async ({ caller }, tenant: string, draft: string, given: Given) => {
      const params = { tenant, draft };
      const resolutions = await readResolutions(caller, params, given);
      const body = { review: given.review, resolutions };
      return mergedOutput(await caller.call(mergeTenantDraft, { params, body }), 'Merged');
    });

const replaceCommand = (cli: Cli) =>
  command(
    cli,
    'replace',
    'Make a memory identical to its draft, and close the draft: changes made in the memory since are undone.',
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<draft>', 'ID of the draft', draftId)
    .requiredOption(...REVIEW)
    .option('--json', 'print JSON')
    .examples(
      'memory-service drafts replace acme draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f --review 1795420800123456-1795420800123457-5feceb66…',
    )
    .run(async ({ caller }, tenant: string, draft: string, { review }: Given) => {
      const params = { tenant, draft };
      return mergedOutput(
        await caller.call(replaceByTenantDraft, { params, body: { review } }),
        'Replaced by',
      );
    });

interface MergedRecord {
  draft: DraftRecord;
  merged_at: string | null;
  files: Awaited<ReturnType<typeof mergedFiles>>;
}

function mergedOutput(merged: MergedRecord, verb: string) {
  const { draft, merged_at: at, files } = merged;
  const text = async ({ stdout, stderr }: Io) => {
    const lines = files.map(({ change, path, from }) =>
      sanitizeForTerminal(stdout, `${LETTERS[change]} ${from === null ? path : `${from} -> ${path}`}\n`),
    );
    await print(stdout, lines);
    printLine(stderr, `${verb} ${draft.id}: ${amount(files.length, 'file')} changed.`);
    if (at === null) return;
    const revert = `memory-service revert ${draft.tenant} --by ${draft.id} --since ${at} --until ${at}`;
    printLine(stderr, `Undo it with: ${revert}`);
  };
  return { json: merged, text };
}

/** Finds the files that the options name by their paths, in the draft or otherwise in the memory. */
async function readResolutions(caller: Caller, params: { tenant: string; draft: string }, given: Given) {
  const unknown = (path: string) =>
    `${path} was not changed in the draft. See: memory-service drafts show ${params.tenant} ${params.draft}`;
  return findResolutions(
    given,
    async () => {
      const touched = (await readChanges(caller, params)).changes.filter((each) => each.in_draft !== null);
      // If the draft and the memory have different files at a path, the draft's file is chosen.
      const inDraftLast = touched.toSorted((a, b) => Number(a.draft !== null) - Number(b.draft !== null));
      return inDraftLast.map(({ path, memory_id: id }) => ({ path, id }));
    },
    unknown,
  );
}

const createCommand = (cli: Cli) =>
  command(
    cli,
    'create',
    'Create a draft (a working copy of the memory) and print its ID. The ID works wherever a tenant ID does.',
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .requiredOption('--title <text>', 'purpose of the draft', createNameParser(200, 1))
    .option('--at <time>', 'start from the memory at this time (default: now)', timeArgument)
    .option('--json', 'print JSON')
    .addHelpText('after', TIME_HELP)
    .examples("memory-service drafts create acme --title 'Tidy up the notes on travel'")
    .run(async ({ caller }, tenant: string, { title, at }: { title: string; at?: string }) => {
      const draft = await caller.call(createTenantDraft, { params: { tenant }, body: { title, at } });
      return { json: draft, text: draft.id };
    });

const PAGE = 100;

interface ListOptions {
  state: NonNullable<DraftFilter['state']>;
}

const listCommand = (cli: Cli) =>
  command(cli, 'list', 'List drafts, the newest first: of a tenant, or of all.')
    .argument('[tenant]', 'tenant ID (default: all tenants)', tenantId)
    .addOption(
      new Option('--state <state>', 'only drafts in this state; closed: any state but open')
        .choices(['open', 'closed', 'merged', 'replaced', 'rejected', 'expired'])
        .default('open'),
    )
    .option('--json', 'print JSON')
    .examples('memory-service drafts list acme')
    .run(async ({ caller }, tenant: string | undefined, { state }: ListOptions) => {
      const query = { state, limit: PAGE };
      const records = await (tenant === undefined
        ? readList(caller, listAllDrafts, { query }, (page) => page.drafts)
        : readList(caller, listDrafts, { params: { tenant }, query }, (page) => page.drafts));
      const text = table(records, {
        ID: (draft) => draft.id,
        TENANT: (draft) => draft.tenant,
        STATE: (draft) => draft.state,
        'CHANGED FILES': (draft) => draft.changed_files,
        CREATED: (draft) => time(draft.created_at),
        'LAST USED': (draft) => time(draft.last_used_at),
        EXPIRES: (draft) => time(draft.expires_at),
        BY: (draft) => actorTextVia(draft.author, draft.via_tenant),
        TITLE: (draft) => draft.title,
      });
      return { json: records, text };
    });

const showCommand = (cli: Cli) =>
  command(
    cli,
    'show',
    'Show a draft and its changed files: A added, M modified, R renamed, D deleted. A second letter shows the change of the same file in the memory since. Pass the review that it prints to `merge` or `replace`.',
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<draft>', 'ID of the draft, from `drafts list`', draftId)
    .option('--all', 'also list files that only the memory changed')
    .option('--json', 'print JSON')
    .examples('memory-service drafts show acme draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f')
    .run(async ({ caller }, tenant: string, id: string, { all = false }: { all?: boolean }) => {
      const params = { tenant, draft: id };
      const draft = await caller.call(getDraft, { params });
      if (draft.state !== 'open') return { json: draft, text: (io) => printDraft(io, draft) };
      const compared = await readChanges(caller, params);
      const changes = compared.changes.filter((each) => all || each.in_draft !== null);
      const { review } = compared;
      const text = (io: Io) => {
        printDraft(io, draft);
        for (const change of changes) printLine(io.stdout, changeLine(io, change));
        const conflicts = changes.filter(({ conflict }) => conflict !== null).length;
        const counted = `${amount(changes.length, 'changed file')}, ${amount(conflicts, 'conflict')}`;
        printLine(io.stderr, `${counted}. Review: ${review}`);
      };
      return { json: { draft, review, changes }, text };
    });

function printDraft({ stdout }: Io, draft: DraftRecord): void {
  const { id, title, state, author, via_tenant: via, closed_by: closedBy, expires_at: expiresAt } = draft;
  printLine(stdout, `${id}  ${sanitizeForTerminal(stdout, title)}`);
  const made = `created ${time(draft.created_at)} by ${sanitizeForTerminal(stdout, actorTextVia(author, via))}, from ${time(draft.base_at)}`;
  const end =
    closedBy === null
      ? ''
      : `, ${state} ${time(draft.closed_at)} by ${sanitizeForTerminal(stdout, actorText(closedBy))}`;
  const expiry = expiresAt === null ? '' : `, expires ${time(expiresAt)} if nobody uses it`;
  printLine(stdout, `${state}: ${made}${end}${expiry}`);
}

const LETTERS = { added: 'A', changed: 'M', moved: 'R', deleted: 'D' } as const;

function changeLine({ stdout }: Io, change: ChangeRecord): string {
  const { in_draft: inDraft, in_original: inOriginal, base, path, conflict } = change;
  const isMoved = inDraft === 'moved' && base !== null;
  const where = isMoved ? `${base.path} -> ${path}` : path;
  const letters = `${inDraft === null ? '-' : LETTERS[inDraft]}${inOriginal === null ? ' ' : LETTERS[inOriginal]}`;
  const why = conflict === null ? '' : `  CONFLICT: ${conflictText(change)}`;
  return sanitizeForTerminal(stdout, `${letters} ${where}${why}${blockedByText(change)}`);
}

/** Returns the files or the directory that a resolution with the draft would remove or replace. */
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

const rejectCommand = (cli: Cli) =>
  command(cli, 'reject', 'Reject a draft. Only its record remains.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<draft>', 'ID of the draft', draftId)
    .examples('memory-service drafts reject acme draft_6f1c2d7a9b3e4c5d8e0f1a2b3c4d5e6f')
    .run(async ({ caller, io }, tenant: string, id: string) => {
      await caller.call(rejectDraft, { params: { tenant, draft: id } });
      printLine(io.stderr, `Rejected ${id}.`);
    });

export const draftCommands = group(
  'drafts',
  'Propose changes to a memory in a draft, review them, and merge them.',
  [createCommand, listCommand, showCommand, diffCommand, mergeCommand, replaceCommand, rejectCommand],
);
