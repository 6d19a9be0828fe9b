import { InvalidArgumentError, Option } from 'commander';
import { positiveInteger, sourceOption, TIME_HELP, timeArgument } from '../../../core/cli/arguments.ts';
import { type Caller, readItems } from '../../../core/cli/caller.ts';
import { type Cli, type CliCommand, command } from '../../../core/cli/cli-command.ts';
import { type Io, print } from '../../../core/cli/io.ts';
import { printLine, sanitizeForTerminal } from '../../../core/cli/output.ts';
import {
  addSelectionOptions,
  type SelectionOptions,
  toSelection,
} from '../../../core/cli/selection-options.ts';
import { amount } from '../../../core/lib/units.ts';
import { describeMatching, hintAfterNoMatch, type Matching } from '../../search/matching.ts';
import { describeOption, type Mode, modesFrom } from '../../search/modes.ts';
import { MAX_QUERY_LENGTH } from '../../search/search-query.ts';
import { listHits, startFind } from '../admin/find-operations.ts';
import { listJobTenants } from '../admin/job-operations.ts';
import { PLACES } from '../find.ts';
import { foundByText, type JobRecord, waitForJob } from './job-progress.ts';

interface FindOptions extends SelectionOptions {
  mode: Mode;
  exact?: boolean;
  ignoreCase?: boolean;
  in: 'both' | 'content' | 'path';
  place?: (typeof PLACES)[number][];
  by?: string;
  source?: string;
  since?: string;
  until?: string;
  limit: number;
  wait: boolean;
  json?: boolean;
}

export const findCommand = (cli: Cli) =>
  command(
    cli,
    'find',
    'Find a text in the files, history, drafts, and paths of many tenants. A job does the work in the background; Ctrl-C leaves it running.',
  )
    .argument('<text>', 'text or pattern to find', textArgument)
    .addOption(
      new Option('--mode <mode>', describeOption('find', 'literal'))
        .choices(modesFrom('literal'))
        .default('literal'),
    )
    .option('--exact', 'compare a literal text byte for byte, case-sensitive unless -i is set')
    .option('-i, --ignore-case', 'ignore case with --exact; without it, a literal text always ignores case')
    .with(addSelectionOptions)
    .addOption(
      new Option('--in <part>', 'part of the versions to read')
        .choices(['content', 'path', 'both'])
        .default('both'),
    )
    .addOption(new Option('--place <place...>', 'versions to read (default: all)').choices(PLACES))
    .option('--by <actor>', 'only versions by this actor, as for log')
    .addOption(sourceOption('only versions written with keys of this source'))
    .option('--since <time>', 'only versions since this time', timeArgument)
    .option('--until <time>', 'only versions up to this time', timeArgument)
    .addOption(
      new Option('--limit <n>', 'maximum number of hits to print').argParser(positiveInteger).default(100),
    )
    .option('--no-wait', 'print the job, and do not wait for its end')
    .option('--json', 'print JSON: the job, or one hit per line')
    .addHelpText('after', TIME_HELP)
    .examples(
      "memory-service find --all 'ignore all previous instructions'",
      "memory-service find --tenant acme --mode regex '4[0-9]{15}' --place superseded",
      "memory-service find --metadata plan=pro --source web --since 2d 'evil.example'",
    )
    .action((text: string, options: FindOptions, command: CliCommand) => {
      const body = {
        text,
        mode: options.mode,
        exact: options.exact ?? false,
        ignore_case: options.ignoreCase ?? false,
        in: options.in,
        tenants: toSelection(options, command),
        places: options.place ?? [...PLACES],
        by: options.by,
        source: options.source,
        since: options.since,
        until: options.until,
      };
      const matching: Matching = {
        mode: body.mode,
        text,
        isNormalized: !body.exact,
        ignoresCase: body.ignore_case,
      };
      return command.runConnected(async ({ caller, io }) => {
        const job = await caller.call(startFind, { body });
        if (!options.wait) return { json: job, text: job.id };
        const sought = describeMatching('find', matching);
        printLine(io.stderr, `Job ${job.id}: finding in ${amount(job.tenants, 'tenant')}: ${sought}.`);
        const ended = await waitForJob(caller, io, job.id);
        await printHits(caller, io, ended, options);
        if (ended.state === 'done' && (ended.counts.hits ?? 0) === 0)
          printLine(io.stderr, hintAfterNoMatch('find', matching));
      });
    });

function textArgument(value: string): string {
  if (value !== '' && value.length <= MAX_QUERY_LENGTH) return value;
  throw new InvalidArgumentError(`Use 1 to ${MAX_QUERY_LENGTH} characters.`);
}

/** Prints the hits in all tenants, sorted by tenant, and a summary. */
export async function printHits(
  caller: Caller,
  io: Io,
  job: JobRecord,
  { limit, json = false }: { limit: number; json?: boolean | undefined },
  describe: (job: JobRecord, printed: number) => string = findSummary,
): Promise<void> {
  const line = (tenant: string, hit: HitRecord) =>
    json ? JSON.stringify({ tenant, ...hit }) : sanitizeForTerminal(io.stdout, hitText(tenant, hit));
  const printed = await printLines(caller, io, job, limit, line);
  printLine(io.stderr, describe(job, printed));
}

/** Prints the hits in all tenants without excerpts, because the output may be kept in a log. */
export async function printPlaces(caller: Caller, io: Io, job: JobRecord, limit: number): Promise<void> {
  await printLines(caller, io, job, limit, (tenant, hit) =>
    sanitizeForTerminal(io.stdout, placeText(tenant, hit)),
  );
}

/** Prints a line for each hit, up to a maximum number, and returns the line count. */
async function printLines(
  caller: Caller,
  { stdout }: Io,
  job: JobRecord,
  limit: number,
  line: (tenant: string, hit: HitRecord) => string,
): Promise<number> {
  let printed = 0;
  async function* lines() {
    for await (const { tenant, hit } of readJobHits(caller, job.id)) {
      if (printed === limit) return;
      printed++;
      yield `${line(tenant, hit)}\n`;
    }
  }
  await print(stdout, lines());
  return printed;
}

type HitRecord = Awaited<ReturnType<typeof listHits.run>>['hits'][number];

async function* readJobHits(caller: Caller, job: string): AsyncGenerator<{ tenant: string; hit: HitRecord }> {
  const query = { limit: 100 };
  const outcomes = readItems(caller, listJobTenants, { params: { job }, query }, ({ tenants }) => tenants);
  for await (const { tenant, error } of outcomes) {
    if (error !== null) continue;
    const hits = readItems(caller, listHits, { params: { job, tenant }, query }, (page) => page.hits);
    for await (const hit of hits) yield { tenant, hit };
  }
}

/** Formats a hit as `grep` does, with the version unless it is current. */
function hitText(tenant: string, hit: HitRecord): string {
  return `${placeText(tenant, hit)}${hit.in === 'path' ? '' : `: ${hit.excerpt ?? ''}`}`;
}

function placeText(tenant: string, hit: HitRecord): string {
  const path = hit.path ?? (hit.redacted ? '(redacted)' : '(no longer kept)');
  const place = `${hit.draft ?? tenant} ${path}${hit.line === null ? '' : `:${hit.line}`}`;
  const version = hit.place === 'current' ? '' : ` (version ${hit.version_id})`;
  return `${place}${version}${hit.in === 'path' ? ' (the path matches)' : ''}`;
}

function findSummary(job: JobRecord, printed: number) {
  const { state, counts, is_exact: isExact, tenants_done: done, tenants_failed: failed } = job;
  const { hits = 0, files = 0, current = 0, superseded = 0, drafts = 0, paths = 0, directories = 0 } = counts;
  const parts = [
    `${current} current`,
    `${superseded} superseded`,
    `${drafts} in drafts`,
    `${paths} by path`,
    amount(directories, 'directory', 'directories'),
  ];
  const lower = isExact ? '' : 'at least ';
  const more = printed < hits ? ` ${printed} of them are printed.` : '';
  const failures = failed === 0 ? '' : ` ${amount(failed, 'tenant')} failed.`;
  const end = state === 'cancelled' ? ' The job was cancelled.' : '';
  return `Found ${lower}${amount(hits, 'hit')} in ${amount(files, 'file')}: ${parts.join(', ')}. Read ${amount(done, 'tenant')}.${foundByText(job)}${failures}${end}${more}`;
}
