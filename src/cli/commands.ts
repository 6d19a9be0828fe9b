import type { Command } from 'commander';
import { registerAuditCommand } from './audit.ts';
import type { Cli } from './caller.ts';
import { registerCompletionCommand } from './completion.ts';
import { registerEraseCommand } from './erase.ts';
import { registerFindCommand } from './find.ts';
import { registerJobCommands } from './jobs.ts';
import { registerKeepOutCommands } from './keep-out.ts';
import { registerKeyCommands } from './keys.ts';
import { registerLogCommand } from './log.ts';
import { registerExpireCommand, registerPruneCommand } from './maintenance.ts';
import { registerMemoryCommands } from './memory.ts';
import { registerReceiptCommands } from './receipts.ts';
import { registerRevertCommand } from './revert.ts';
import { registerTenantCommands } from './tenants.ts';
import { registerRedactCommand, registerRestoreCommand } from './undo.ts';
import { registerUsageCommand } from './usage.ts';
import { registerDiffCommand, registerShowCommand } from './versions.ts';

/** Adds the commands of the core to the command line. */
export function registerCommands(program: Command, cli: Cli): void {
  registerTenantCommands(program, cli);
  registerKeyCommands(program, cli);
  registerKeepOutCommands(program, cli);
  registerReceiptCommands(program, cli);
  registerUsageCommand(program, cli);
  registerExpireCommand(program, cli);
  registerMemoryCommands(program, cli);
  registerRedactCommand(program, cli);
  registerPruneCommand(program, cli);
  registerLogCommand(program, cli);
  registerShowCommand(program, cli);
  registerDiffCommand(program, cli);
  registerRestoreCommand(program, cli);
  registerRevertCommand(program, cli);
  registerFindCommand(program, cli);
  registerEraseCommand(program, cli);
  registerJobCommands(program, cli);
  registerAuditCommand(program, cli);
  registerCompletionCommand(program, cli.io);
}
