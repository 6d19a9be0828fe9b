import type { Command } from 'commander';
import { redactVersion } from '../history/redact.ts';
import { fullVersionId } from '../history/version-ids.ts';
import { tenantId } from './arguments.ts';
import { VERSION_HELP, versionArgument } from './history-arguments.ts';
import type { Io } from './io.ts';
import { operatorOrigin } from './operator.ts';
import { printJson, printLine } from './output.ts';
import { type Open, withDatabase } from './session.ts';

/** `redact`: removes a secret from the history. */
export function registerRedactCommand(program: Command, open: Open, io: Io): void {
  program
    .command('redact')
    .description('Permanently remove the path and content of a version that is no longer live.')
    .argument('<tenant>', 'tenant ID', tenantId)
    .argument('<version>', VERSION_HELP, versionArgument)
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Other versions with the same content, such as those before a rename, are redacted as well, and so are all
stored answers of the tenant: a retried request learns that its answer was redacted. Backups keep the text
until you delete them.

Example:
  memory-service redact acme 0b6c2f0e`,
    )
    .action((tenant: string, version: string, { json }: { json?: boolean }) =>
      withDatabase(open, async ({ database }) => {
        const redacted = await redactVersion(
          database,
          tenant,
          await fullVersionId(database, tenant, version),
          operatorOrigin(),
        );
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
