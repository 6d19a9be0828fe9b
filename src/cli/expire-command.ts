import type { Command } from 'commander';
import { OperatorError } from '../errors.ts';
import { expireFiles } from '../expiration/expiration.ts';
import type { Io } from './io.ts';
import { printJson, printLine } from './output.ts';
import { type Open, withDatabase } from './session.ts';

/** `expire`: what the service does by itself every hour, at once. */
export function registerExpireCommand(program: Command, open: Open, io: Io = process): void {
  program
    .command('expire')
    .description(
      'Remove files that were neither read nor written for MEMORY_TTL_DAYS, or their tenant’s own time.',
    )
    .option('--dry-run', 'only say what would be removed')
    .option('--json', 'as JSON')
    .addHelpText('after', '\nExample:\n  MEMORY_TTL_DAYS=180 memory-service expire --dry-run')
    .action(({ dryRun = false, json }: { dryRun?: boolean; json?: boolean }) =>
      withDatabase(open, async ({ config, database }) => {
        const verb = dryRun ? 'Would remove' : 'Removed';
        const expired = await expireFiles(database, {
          defaultTtlDays: config.MEMORY_TTL_DAYS,
          historyDays: config.HISTORY_DAYS,
          dryRun,
          onTenant: (tenant, { files, bytes }) => {
            if (!json) printLine(io.stderr, `${tenant}: ${files} files, ${bytes} bytes`);
          },
        });
        if (expired === undefined)
          throw new OperatorError('Another process is removing expired files right now.');
        if (json) return printJson(io.stdout, expired);
        printLine(
          io.stdout,
          `${verb} ${expired.files} files (${expired.bytes} bytes) of ${expired.tenants} tenants.`,
        );
      }),
    );
}
