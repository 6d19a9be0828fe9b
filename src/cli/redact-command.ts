import type { Command } from 'commander';
import { History } from '../history/history.ts';
import { redactVersion } from '../history/redact.ts';
import { previewRedaction, type RedactionPreview, type RemainingVersion } from '../history/redact-preview.ts';
import { shownTime } from '../history/time.ts';
import type { Version } from '../history/version.ts';
import { fullVersionId } from '../history/version-ids.ts';
import { amount } from '../util/amount.ts';
import { tenantId } from './arguments.ts';
import { confirm } from './confirm.ts';
import { VERSION_HELP, versionArgument } from './history-arguments.ts';
import { type Io, print } from './io.ts';
import { operatorOrigin } from './operator.ts';
import { printJson, printLine } from './output.ts';
import type { Open } from './session.ts';
import { withTenant } from './tenant-session.ts';

interface Options {
  dryRun?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** `redact`: removes a secret from the history. */
export function registerRedactCommand(program: Command, open: Open, io: Io): void {
  program
    .command('redact')
    .description('Permanently remove the path and content of a version that is no longer live.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<version>', VERSION_HELP, versionArgument)
    .option('--dry-run', 'list what would be redacted and what may still hold the text or the path')
    .option('--yes', 'do not ask for confirmation')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Other versions of the file with the same content, such as those before a rename, are redacted as well, and so are all
stored answers of the tenant: a retried request learns that its answer was redacted. Backups keep the text
until you delete them.

Versions with another content stay, even if they hold the same secret. --dry-run lists the other versions of
the file, and those of other files that have a line or the path of it. Redact each that holds the secret.

Examples:
  memory-service redact acme 01a20877-6010 --dry-run
  memory-service redact acme 01a20877-6010`,
    )
    .action((tenant: string, start: string, { dryRun, yes, json = false }: Options) =>
      withTenant(open, tenant, async ({ database }) => {
        const id = await fullVersionId(database, tenant, start);
        const preview = () => previewRedaction(new History(database), tenant, id);
        if (dryRun) return showPreview(await preview(), json, io);
        if (!yes) {
          if (io.stdin.isTTY) await print(io.stderr, previewLines(await preview()));
          const question = `Permanently redact version ${id} of ${tenant}, and all with the same content?`;
          await confirm(io, question, 'Nothing was redacted.');
        }
        const redacted = await redactVersion(database, tenant, id, operatorOrigin());
        if (json) return printJson(io.stdout, redacted);
        printLine(io.stdout, `Redacted versions: ${redacted.versions}, stored answers: ${redacted.answers}.`);
        if (redacted.samePath > 0) {
          printLine(
            io.stdout,
            `Other versions that still have a redacted path: ${redacted.samePath}. Redact them too if it is a secret.`,
          );
        }
      }),
    );
}

async function showPreview(preview: RedactionPreview, json: boolean, io: Io): Promise<void> {
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

function* previewLines({ redacted, remaining, lines }: RedactionPreview): Generator<string> {
  if (redacted.length === 0) yield 'This version is redacted already.\n';
  else yield `These versions and all stored answers of the tenant would be redacted:\n`;
  for (const version of redacted) yield line(version);
  if (remaining.length === 0) return;
  yield '\nThese stay, and may hold the same text or path. Redact each that does:\n';
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
