import type { Command } from 'commander';
import { shownTime } from '../history/time-text.ts';
import { fullVersionId, type Version, versionRecord } from '../history/version.ts';
import { actorText } from '../memory/origin.ts';
import { tenantId } from './arguments.ts';
import { VERSION_HELP, versionArgument } from './history-arguments.ts';
import { type Io, print } from './io.ts';
import { formatJson, shown } from './output.ts';
import { styled } from './patch-output.ts';
import type { Open } from './session.ts';
import { withTenant } from './tenant-session.ts';

/** `show`: one version with its content. */
export function registerShowCommand(program: Command, open: Open, io: Io): void {
  program
    .command('show')
    .description('Show a version with its metadata and content.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<version>', VERSION_HELP, versionArgument)
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  memory-service show acme 01a20877-6010')
    .action((tenant: string, id: string, { json }: { json?: boolean }) =>
      withTenant(open, tenant, async ({ database, history }) => {
        const { version, content } = await history.existing(
          tenant,
          await fullVersionId(database, tenant, id),
        );
        const record = { ...versionRecord(version), content };
        await print(io.stdout, json ? [formatJson(record)] : text(version, content, io.stdout));
      }),
    );
}

function* text(version: Version, content: string | null, stdout: Io['stdout']): Generator<string> {
  const { actor, redactedAt, redactedBy } = version;
  const fields: [string, string | number | null][] = [
    ['version', version.id],
    ['memory', version.memoryId],
    ['operation', version.operation],
    ['path', version.path],
    ['time', shownTime(version.createdAt)],
    ['by', actor.type === 'api_key' ? `${actorText(actor)} (${actor.id})` : actorText(actor)],
    ['request', version.requestId],
    ['tool use', version.toolUseId],
    ['bytes', version.contentSizeBytes],
    ['sha256', version.contentSha256],
    [
      'redacted',
      redactedAt && `${shownTime(redactedAt)}${redactedBy === null ? '' : ` by ${actorText(redactedBy)}`}`,
    ],
  ];
  for (const [name, value] of fields) {
    if (value !== null)
      yield `${styled(stdout, 'yellow', name.padEnd(9))}  ${shown(stdout, String(value))}\n`;
  }
  if (content === null) return;
  yield `\n${shown(stdout, content)}`;
  if (stdout.isTTY && !content.endsWith('\n')) yield '\n';
}
