import { type Command, Option } from 'commander';
import { closeDraft } from '../drafts/close.ts';
import { compareDraft } from '../drafts/compare.ts';
import { createDraft } from '../drafts/create.ts';
import { type Draft, type DraftFilter, findDraft, listDrafts } from '../drafts/drafts.ts';
import { MergeThreads } from '../drafts/line-merge.ts';
import { type ChangeRecord, changeRecords, draftRecords } from '../drafts/records.ts';
import { actorText } from '../memory/origin.ts';
import type { Database } from '../postgres/database.ts';
import { requireTenant } from '../tenants/tenants.ts';
import { amount } from '../util/amount.ts';
import { nameOf, TIME_HELP, tenantId, timeArgument, timesOf } from './arguments.ts';
import { registerDraftDiffCommand } from './draft-diff-command.ts';
import { registerDraftMergeCommands } from './draft-merge-commands.ts';
import type { Io } from './io.ts';
import { printJson, printLine, printTable, shown, time } from './output.ts';
import { audited, type Open, operatorOrigin, withDatabase } from './session.ts';

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

const LETTERS = { added: 'A', changed: 'M', moved: 'R', deleted: 'D' } as const;

function changeLine({ stdout }: Io, change: ChangeRecord): string {
  const { in_draft: inDraft, in_original: inOriginal, base, path, conflict } = change;
  const isMoved = inDraft === 'moved' && base !== null;
  const where = isMoved ? `${base.path} -> ${path}` : path;
  const letters = `${inDraft === null ? '-' : LETTERS[inDraft]}${inOriginal === null ? ' ' : LETTERS[inOriginal]}`;
  const why = conflict === null ? '' : `  CONFLICT: ${conflictText(change)}`;
  return shown(stdout, `${letters} ${where}${why}${inTheWayText(change)}`);
}

/** What taking the draft removes, or makes what the draft has. */
function inTheWayText({ in_the_way: found }: ChangeRecord): string {
  if (found === null) return '';
  const { path, files, file_count: count } = found;
  const named = files.slice(0, 3).join(', ');
  const more = count > 3 ? ` and ${count - 3} more` : '';
  return `  IN THE WAY: ${count === 0 ? path : `${named}${more}`}`;
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
