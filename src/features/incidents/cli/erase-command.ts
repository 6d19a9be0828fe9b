import { InvalidArgumentError } from 'commander';
import { positiveInteger } from '../../../core/cli/arguments.ts';
import { type Caller, readList } from '../../../core/cli/caller.ts';
import { type Cli, type CliCommand, command } from '../../../core/cli/cli-command.ts';
import { confirm, type Io } from '../../../core/cli/io.ts';
import { readText } from '../../../core/cli/memory-commands.ts';
import { printJson, printLine } from '../../../core/cli/output.ts';
import {
  addSelectionOptions,
  type SelectionOptions,
  toSelection,
} from '../../../core/cli/selection-options.ts';
import { OperatorError } from '../../../core/errors/errors.ts';
import { amount } from '../../../core/lib/units.ts';
import { startErase } from '../admin/erase-operations.ts';
import { listJobTenants } from '../admin/job-operations.ts';
import { listErasureReceipts } from '../admin/receipt-operations.ts';
import { MAX_TEXT, MIN_TEXT } from '../erase-job.ts';
import { printPlaces } from './find-command.ts';
import { foundByText, type JobRecord, outcomesTable, waitForJob } from './job-progress.ts';

/* Erases a text from many tenants: a dry run with the places, a confirmation, and a job. */

/** Exit code for an erasure that could not erase every place. */
const INCOMPLETE = 3;

interface EraseOptions extends SelectionOptions {
  exact?: boolean;
  ignoreCase?: boolean;
  replacement: string;
  keepOut?: boolean;
  dryRun?: boolean;
  yes?: boolean;
  limit: number;
  json?: boolean;
}

export const eraseCommand = (cli: Cli) =>
  command(
    cli,
    'erase',
    'Erase a text from the files, history, drafts, and paths of many tenants: show the places, ask, and erase it for good.',
  )
    .argument('<text>', 'text to erase, or - for standard input', textArgument)
    .option('--exact', 'compare byte for byte instead of in normal form')
    .option('-i, --ignore-case', 'ignore case with --exact; otherwise case is always ignored')
    .with(addSelectionOptions)
    .option('--replacement <text>', 'text in its place in current files; empty to remove it', '[erased]')
    .option('--keep-out', 'also keep the text out, before it is erased')
    .option('--dry-run', 'only show the places')
    .option('--limit <n>', 'maximum number of places to print', positiveInteger, 100)
    .option('--yes', 'erase it without asking')
    .option('--json', 'print JSON: the job, its outcomes by tenant, and its receipt')
    .addHelpText(
      'after',
      `
Versions, past paths, and stored results with the text are redacted. Backups and exports keep it: see docs/incidents.md.
A command line is visible to other users of the machine, and is kept in the history of the shell. Use - for a secret:
without its final line break, standard input is the text.`,
    )
    .examples(
      'memory-service erase --all - --dry-run < secret.txt',
      'memory-service erase --all - --keep-out --yes < secret.txt',
      "memory-service erase --tenant acme -i 'project nightingale'",
    )
    .action((text: string, options: EraseOptions, command: CliCommand) => {
      const tenants = toSelection(options, command);
      return command.runConnected(async ({ caller, io }) => {
        const body = {
          text: text === '-' ? requireErasableText((await readText('-', io)).replace(/\r?\n$/, '')) : text,
          exact: options.exact ?? false,
          ignore_case: options.ignoreCase ?? false,
          replacement: options.replacement,
          keep_out: options.keepOut ?? false,
          tenants,
        };
        const { dryRun = false, yes = false, json = false, limit } = options;
        if (dryRun || !yes) {
          const tried = await runDryRun(caller, io, body);
          if (json && dryRun) return report(caller, io, tried, json);
          await printPlaces(caller, io, tried, limit);
          printLine(io.stderr, eraseSummary(tried));
          if (dryRun) return;
          await confirm(io, 'Erase it? This cannot be undone.', 'No text was erased.');
        }
        const started = await caller.call(startErase, { body: { ...body, dry_run: false } });
        printLine(io.stderr, `Job ${started.id}: erasing in ${amount(started.tenants, 'tenant')}.`);
        await report(caller, io, await waitForJob(caller, io, started.id), json);
      });
    });

function textArgument(value: string): string {
  if (value === '-') return value;
  const problem = eraseTextProblem(value);
  if (problem !== undefined) throw new InvalidArgumentError(problem);
  return value;
}

function requireErasableText(text: string): string {
  const problem = eraseTextProblem(text);
  if (problem !== undefined) throw new OperatorError(`The text cannot be erased. ${problem}`);
  return text;
}

function eraseTextProblem(text: string): string | undefined {
  if (text.trim().length >= MIN_TEXT && text.length <= MAX_TEXT) return undefined;
  return `Use ${MIN_TEXT} to ${MAX_TEXT} characters, besides white space.`;
}

type EraseBody = Parameters<typeof startErase.run>[0]['body'];

async function runDryRun(caller: Caller, io: Io, body: Omit<EraseBody, 'dry_run'>): Promise<JobRecord> {
  const started = await caller.call(startErase, { body: { ...body, dry_run: true } });
  printLine(io.stderr, `Job ${started.id}: dry run in ${amount(started.tenants, 'tenant')}.`);
  const tried = await waitForJob(caller, io, started.id);
  if (tried.state !== 'done') throw new OperatorError('The dry run was cancelled.');
  return tried;
}

async function report(caller: Caller, io: Io, job: JobRecord, isJson: boolean): Promise<void> {
  const input = { params: { job: job.id }, query: { limit: 200 } };
  const outcomes = await readList(caller, listJobTenants, input, (page) => page.tenants);
  const [receipt] = (await caller.call(listErasureReceipts, { query: { job: job.id, limit: 1 } })).receipts;
  const id = receipt?.receipt.id ?? null;
  if (isJson) printJson(io.stdout, { ...job, outcomes, receipt: id });
  else outcomesTable(outcomes, ['files', 'versions', 'drafts', 'paths', 'settings', 'left'])(io);
  printLine(io.stderr, eraseSummary(job));
  if (id !== null) printLine(io.stderr, `Receipt ${id}. Print it with: memory-service receipts show ${id}`);
  const { left = 0 } = job.counts;
  const missed = [
    ...(left > 0 ? [amount(left, 'place')] : []),
    ...(job.tenants_failed > 0 ? [amount(job.tenants_failed, 'failed tenant')] : []),
  ];
  if (missed.length > 0 || job.state !== 'done')
    throw new OperatorError(
      `NOT erased: ${missed.join(', ') || 'the job was cancelled'}. Run the command again to continue.`,
      { exitCode: INCOMPLETE },
    );
}

/** Describes the changes by an erasure, or in its dry run. */
export function eraseSummary(job: JobRecord): string {
  const { request, counts, tenants_done: done } = job;
  const { files = 0, versions = 0, drafts = 0, paths = 0, directories = 0, results = 0, titles = 0 } = counts;
  const { settings = 0 } = counts;
  const verb = request.isDryRun ? 'Would change' : 'Changed';
  const parts = [
    amount(files, 'file'),
    amount(versions, 'superseded version'),
    `${amount(drafts, 'place')} in drafts`,
    amount(paths, 'path'),
    amount(directories, 'past directory', 'past directories'),
    amount(results, 'stored result'),
    amount(titles, 'title'),
  ];
  const kept =
    settings === 0
      ? ''
      : ` ${amount(settings, 'name or setting', 'names and settings')} with the text stay unchanged.`;
  return `${verb}: ${parts.join(', ')}. Read ${amount(done, 'tenant')}.${foundByText(job)}${kept}`;
}
