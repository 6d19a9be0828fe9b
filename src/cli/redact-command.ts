import type { Command } from 'commander';
import { redactVersion } from '../history/redact.ts';
import { tenantId } from './arguments.ts';
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
    .argument('<version>', 'ID of the version, from `log`')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Other versions with the same content, such as those before a rename, are redacted as well, and so are all
stored answers of the tenant: a retried request learns that its answer was redacted. Backups keep the text
until you delete them.

Example:
  memory-service redact acme 0b6c2f0e-5f0a-4c0e-9d57-3f1f6f0d9a11`,
    )
    .action((tenant: string, version: string, { json }: { json?: boolean }) =>
      withDatabase(open, async ({ database }) => {
        const redacted = await redactVersion(database, tenant, version, operatorOrigin());
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
