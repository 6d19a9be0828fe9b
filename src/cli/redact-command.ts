import type { Command } from 'commander';
import {
  countErasableDirectories,
  type ErasurePreview,
  eraseDirectories,
  eraseVersion,
  previewErasure,
  type RemainingVersion,
} from '../history/erase.ts';
import { History } from '../history/history.ts';
import { shownTime } from '../history/time-text.ts';
import { fullVersionId, type Version } from '../history/version.ts';
import type { MemoryPath } from '../memory/path.ts';
import type { Database } from '../postgres/database.ts';
import { amount } from '../util/amount.ts';
import { memoryPath, tenantId, versionArgument } from './arguments.ts';
import { confirm, type Io, print } from './io.ts';
import { printJson, printLine } from './output.ts';
import { audited, type Open, operatorOrigin, withTenant } from './session.ts';

interface Options {
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

type Subject = { kind: 'version'; version: string } | { kind: 'path'; path: MemoryPath };

/** `redact`: removes a secret from the history. */
export function registerRedactCommand(program: Command, open: Open, io: Io): void {
  program
    .command('redact')
    .description('Permanently remove the path and content of a version that is no longer live.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument(
      '<version>',
      'ID of the version, from `log`, or its first characters; or the path of a deleted directory',
      subjectArgument,
    )
    .option('--dry-run', 'list what would be redacted, and what may still contain the text or the path')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Other versions of the file with the same content, such as those before a rename, are redacted as well, and so are all
stored results of the tenant: a retried request learns that its result was redacted. Backups keep the text
until you delete them.

Versions with different content stay, even if they contain the same secret. --dry-run lists the other versions
of the file, and the versions of other files that share a line or a path with it. Redact each that has the secret.

With a path, it removes the names of the deleted directories there and below, once the versions of their
files are redacted: for a directory that was empty when it was renamed or deleted.

Examples:
  memory-service redact acme 01a20877-6010 --dry-run
  memory-service redact acme 01a20877-6010
  memory-service redact acme /memories/old-name`,
    )
    .action((tenant: string, subject: Subject, options: Options) =>
      withTenant(open, tenant, async ({ database }) => {
        const { dryRun, yes, json = false } = options;
        if (subject.kind === 'path') return redactPath(database, tenant, subject.path, options, io);
        const id = await fullVersionId(database, tenant, subject.version);
        const preview = () => previewErasure(new History(database), tenant, id);
        if (dryRun) return showPreview(await preview(), json, io);
        if (!yes) {
          if (io.stdin.isTTY) await print(io.stderr, previewLines(await preview()));
          const question = `Permanently redact version ${id} of ${tenant}, and all with the same content?`;
          await confirm(io, question, 'Nothing was redacted.');
        }
        const redacted = await audited(
          { database, io },
          'redactVersion',
          { tenant, details: { version: id } },
          () => eraseVersion(database, tenant, id, operatorOrigin()),
        );
        if (json) return printJson(io.stdout, redacted);
        printLine(
          io.stdout,
          `Redacted versions: ${redacted.versions}, stored results: ${redacted.storedResults}.`,
        );
        if (redacted.samePath > 0) {
          printLine(
            io.stdout,
            `Other versions that still have a redacted path: ${redacted.samePath}. Redact them too if it is a secret.`,
          );
        }
        if (redacted.drafts.length > 0) {
          printLine(
            io.stdout,
            `Open drafts that still have the file: ${redacted.drafts.join(', ')}. Close them, or delete and redact it there.`,
          );
        }
      }),
    );
}

function subjectArgument(value: string): Subject {
  return value.startsWith('/')
    ? { kind: 'path', path: memoryPath(value) }
    : { kind: 'version', version: versionArgument(value) };
}

async function redactPath(
  database: Database,
  tenant: string,
  path: MemoryPath,
  { dryRun, yes, json }: Options,
  io: Io,
): Promise<void> {
  if (dryRun) {
    const directories = await countErasableDirectories(database, tenant, path);
    if (json) return printJson(io.stdout, { dryRun, directories });
    return printLine(
      io.stdout,
      `Would redact directories: ${directories}, and all stored results of ${tenant}.`,
    );
  }
  if (!yes) {
    const question = `Permanently remove the names of past directories at ${path} and below it from ${tenant}?`;
    await confirm(io, question, 'Nothing was redacted.');
  }
  const redacted = await audited({ database, io }, 'redactDirectories', { tenant }, () =>
    eraseDirectories(database, tenant, path),
  );
  if (json) return printJson(io.stdout, redacted);
  const { directories, storedResults } = redacted;
  printLine(io.stdout, `Redacted directories: ${directories}, stored results: ${storedResults}.`);
}

async function showPreview(preview: ErasurePreview, json: boolean, io: Io): Promise<void> {
  if (!json) return print(io.stdout, previewLines(preview));
  const { redacted, remaining, lines } = preview;
  printJson(io.stdout, {
    dryRun: true,
    redacted: redacted.map(named),
    remaining: remaining.map(({ version, ...what }) => ({ ...named(version), ...what })),
    lines,
  });
}

const named = ({ id, memoryId, path, createdAt }: Version) => ({ id, memoryId, path, createdAt });

function* previewLines({ redacted, remaining, lines }: ErasurePreview): Generator<string> {
  if (redacted.length === 0) yield 'This version is already redacted.\n';
  else yield `These versions and all stored results of the tenant would be redacted:\n`;
  for (const version of redacted) yield line(version);
  if (remaining.length === 0) return;
  yield '\nThese are kept and may contain the same text or path. Redact each one that does:\n';
  for (const each of remaining) yield line(each.version, whatItHas(each, lines));
}

const line = ({ createdAt, id, path }: Version, also = '') =>
  `  ${shownTime(createdAt).padEnd(27)}  ${id}  ${path}${also}\n`;

function whatItHas({ isLive, hasPath, sharedLines }: RemainingVersion, lines: number): string {
  const has = [
    ...(hasPath ? ['the path'] : []),
    ...(lines > 0 ? [`${sharedLines} of ${amount(lines, 'line')}`] : []),
  ];
  return `${isLive ? ' (live)' : ''}: ${has.join(', ') || 'the same file'}`;
}
