import { InvalidArgumentError, Option } from 'commander';
import { restore } from '../admin/change-operations.ts';
import {
  checkDirectoryRedaction,
  checkRedaction,
  redactDirectories,
  redactVersion,
} from '../admin/redactions.ts';
import { displayTime } from '../history/time-text.ts';
import { amount } from '../lib/units.ts';
import { type MemoryPath, ROOT } from '../memory/path.ts';
import { memoryPath, TIME_HELP, tenantId, timeArgument, VERSION_HELP, versionArgument } from './arguments.ts';
import { type Caller, iteratePages } from './caller.ts';
import { type Cli, type CliCommand, command } from './cli-command.ts';
import { confirm, type Io, print } from './io.ts';
import { printLine } from './output.ts';
import { RECEIPT_HELP, saveReceipt } from './receipt-file.ts';
import { fullVersionId } from './version-commands.ts';

interface RestoreOptions {
  at?: string;
  version?: string;
  dryRun?: boolean;
  plan?: string;
}

export const restoreCommand = (cli: Cli) =>
  command(
    cli,
    'restore',
    'Restore a file, a directory, or the whole memory to a past time. With --version, restore a file to that version, at the path it had then; with a path as well, write the content of the version to that path and leave the file where it is. If a path is occupied, the memory is left unchanged. Another restore undoes the change.',
  )
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument(
      '[path]',
      'the file or directory (default: the whole memory); with --version, where to put its content',
      memoryPath,
    )
    .addOption(new Option('--at <time>', 'the time to restore').argParser(timeArgument).conflicts('version'))
    .option('--version <id>', VERSION_HELP, versionArgument)
    .option(...DRY_RUN)
    .option(...PLAN)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `${TIME_HELP}
${CHANGE_LINES}`,
    )
    .examples(
      'memory-service restore acme --at 2h --dry-run',
      'memory-service restore acme /memories/projects --at 2026-11-17T09:00:00Z',
      'memory-service restore acme --version 01a20877-6010',
      'memory-service restore acme /memories/old-notes.md --version 01a20877-6010',
    )
    .action((tenant: string, path: MemoryPath | undefined, options: RestoreOptions, command: CliCommand) => {
      if (options.at === undefined && options.version === undefined) {
        command.error('error: requires --at <time> or --version <id>');
      }
      return command.runConnected(async ({ caller }) => {
        const { at, version, dryRun = false, plan } = options;
        const target =
          at !== undefined
            ? { path: path ?? ROOT, at }
            : { path, version: await fullVersionId(caller, tenant, version ?? '') };
        const body = { ...target, dry_run: dryRun, plan };
        const changes = await caller.call(restore, { params: { tenant }, body });
        const text = async ({ stdout, stderr }: Io) => {
          await print(stdout, changeLines(changes.files));
          await print(stderr, keptOutLines(changes.kept_out));
          printLine(stderr, `${dryRun ? 'Would restore' : 'Restored'} ${tenant}: ${changes.summary}.`);
        };
        return { json: { tenant, ...changes }, text };
      });
    });

/** Warns about files that contain a text that is kept out after a change. */
export function keptOutLines(paths: readonly string[]): string[] {
  return paths.map((path) => `Warning: ${path} contains a text that is kept out.\n`);
}

/** Warns about files in several tenants like `keptOutLines`. */
export function keptOutText(files: number): string {
  const verb = files === 1 ? 'contains' : 'contain';
  return `Warning: ${amount(files, 'file')} ${verb} a text that is kept out.`;
}

type FileChange = Awaited<ReturnType<typeof restore.run>>['files'][number];

export function* changeLines(files: Iterable<FileChange>): Generator<string> {
  for (const file of files) {
    if (file.change === 'renamed') {
      yield `${file.content_changed ? 'RM' : 'R'} ${file.from} -> ${file.path}\n`;
    } else {
      yield `${LETTERS[file.change]} ${file.path}\n`;
    }
  }
}

const LETTERS = { added: 'A', modified: 'M', deleted: 'D' } as const;

export const CHANGE_LINES =
  'Prints a line for each file: A added, M modified, D deleted, R renamed, RM renamed and modified.';

export const DRY_RUN = ['--dry-run', 'run all checks and show the changes, without making them'] as const;

export const PLAN = [
  '--plan <plan>',
  'change files only if the changes still equal the plan of --dry-run --json',
  planArgument,
] as const;

function planArgument(given: string): string {
  if (/^[0-9a-f]{64}$/.test(given)) return given;
  throw new InvalidArgumentError('it is the plan that --dry-run --json shows.');
}

interface Options {
  dryRun?: boolean;
  yes?: boolean;
  receipt?: string;
}

type Subject = { kind: 'version'; version: string } | { kind: 'path'; path: MemoryPath };

export const redactCommand = (cli: Cli) =>
  command(cli, 'redact', 'Permanently remove the path and content of a version that is no longer live.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument(
      '<version>',
      'ID of the version, from `log`, or its first characters; or the path of a deleted directory',
      subjectArgument,
    )
    .option(
      '--dry-run',
      'list the versions to redact, and other places that may contain the text or the path',
    )
    .option('--yes', 'do not ask for confirmation')
    .option('--receipt <file>', RECEIPT_HELP)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Other versions of the file with the same content, such as versions before a rename, are redacted as well. All stored results of the tenant
are redacted, too: a retried request learns that its result was redacted. Backups keep the text until you delete them.

Versions with different content stay, even if they contain the same secret. --dry-run lists the other versions
of the file, and the versions of other files that share a line or a path with it. Redact each that has the secret.

With a path, it removes the names of the deleted directories there and below, once the versions of their
files are redacted: for a directory that was empty when it was renamed or deleted.`,
    )
    .examples(
      'memory-service redact acme 01a20877-6010 --dry-run',
      'memory-service redact acme 01a20877-6010',
      'memory-service redact acme /memories/old-name',
    )
    .run(async ({ caller, io }, tenant: string, subject: Subject, options: Options) => {
      const { dryRun, yes, receipt: file } = options;
      if (subject.kind === 'path') {
        const { path } = subject;
        return dryRun ? checkPath(caller, tenant, path) : redactPath(caller, tenant, path, options, io);
      }
      const id = await fullVersionId(caller, tenant, subject.version);
      if (dryRun) {
        const redaction = await readRedaction(caller, tenant, id);
        const text = ({ stdout }: Io) => print(stdout, redactionLines(redaction));
        return { json: { dry_run: true, ...redaction }, text };
      }
      if (!yes) {
        if (io.stdin.isTTY) await print(io.stderr, redactionLines(await readRedaction(caller, tenant, id)));
        const question = `Permanently redact version ${id} of ${tenant}, and all with the same content?`;
        await confirm(io, question, 'Nothing was redacted.');
      }
      const query = { receipt: file !== undefined };
      const redacted = await caller.call(redactVersion, { params: { tenant, version: id }, query });
      if (file !== undefined) await saveReceipt(file, redacted.receipt);
      const { versions, stored_results: storedResults, same_path: samePath, drafts } = redacted;
      const text = [
        `Redacted versions: ${versions}, stored results: ${storedResults}.`,
        ...(samePath === 0
          ? []
          : [
              `Other versions that still have a redacted path: ${samePath}. Redact them too if it is a secret.`,
            ]),
        ...(drafts.length === 0
          ? []
          : [
              `Open drafts that still have the file: ${drafts.join(', ')}. Close them, or delete and redact it there.`,
            ]),
      ];
      return { json: redacted, text: text.join('\n') };
    });

function subjectArgument(value: string): Subject {
  return value.startsWith('/')
    ? { kind: 'path', path: memoryPath(value) }
    : { kind: 'version', version: versionArgument(value) };
}

async function redactPath(
  caller: Caller,
  tenant: string,
  path: MemoryPath,
  { yes, receipt: file }: Options,
  io: Io,
) {
  if (!yes) {
    const question = `Permanently remove the names of past directories at ${path} and below it from ${tenant}?`;
    await confirm(io, question, 'Nothing was redacted.');
  }
  const query = { receipt: file !== undefined };
  const redacted = await caller.call(redactDirectories, { params: { tenant }, query, body: { path } });
  if (file !== undefined) await saveReceipt(file, redacted.receipt);
  const { directories, stored_results: storedResults } = redacted;
  return {
    json: redacted,
    text: `Redacted directories: ${directories}, stored results: ${storedResults}.`,
  };
}

async function checkPath(caller: Caller, tenant: string, path: MemoryPath) {
  const { directories } = await caller.call(checkDirectoryRedaction, { params: { tenant }, query: { path } });
  return {
    json: { dry_run: true, directories },
    text: `Would redact directories: ${directories}, and all stored results of ${tenant}.`,
  };
}

type Redaction = Omit<Awaited<ReturnType<typeof checkRedaction.run>>, 'next'>;

/** Reads all pages with the versions that may remain. */
async function readRedaction(caller: Caller, tenant: string, version: string): Promise<Redaction> {
  const pages = iteratePages((after) =>
    caller.call(checkRedaction, { params: { tenant, version }, query: { limit: 1000, after } }),
  );
  const found: Redaction = { redacted: [], remaining: [], lines: 0 };
  for await (const { redacted, remaining, lines } of pages) {
    found.redacted = redacted;
    found.lines = lines;
    for (const each of remaining) found.remaining.push(each);
  }
  return found;
}

function* redactionLines({ redacted, remaining, lines }: Redaction): Generator<string> {
  if (redacted.length === 0) yield 'This version is already redacted.\n';
  else yield `These versions and all stored results of the tenant would be redacted:\n`;
  for (const version of redacted) yield versionLine(version);
  if (remaining.length === 0) return;
  yield '\nThese are kept and may contain the same text or path. Redact each one that does:\n';
  for (const each of remaining) yield versionLine(each, remainingText(each, lines));
}

function versionLine({ created_at: time, id, path }: Redaction['redacted'][number], note = ''): string {
  return `  ${displayTime(time).padEnd(27)}  ${id}  ${path}${note}\n`;
}

function remainingText(version: Redaction['remaining'][number], lines: number): string {
  const parts = [
    ...(version.has_path ? ['the path'] : []),
    ...(lines > 0 ? [`${version.shared_lines} of ${amount(lines, 'line')}`] : []),
  ];
  return `${version.is_live ? ' (live)' : ''}: ${parts.join(', ') || 'the same file'}`;
}
