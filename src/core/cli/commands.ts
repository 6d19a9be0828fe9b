import type { Command } from 'commander';
import { registerAuditCommand } from './audit.ts';
import type { Cli } from './caller.ts';
import { registerCompletionCommand } from './completion.ts';
import { registerKeyCommands } from './keys.ts';
import { registerLogCommand } from './log.ts';
import { registerExpireCommand, registerPruneCommand } from './maintenance.ts';
import { registerMemoryCommands } from './memory.ts';
import type { OverTenants } from './over-tenants.ts';
import { registerRevertCommand } from './revert.ts';
import { registerTenantCommands } from './tenants.ts';
import { registerRedactCommand, registerRestoreCommand } from './undo.ts';
import { registerUsageCommand } from './usage.ts';
import { registerDiffCommand, registerShowCommand } from './versions.ts';

/**
 * Adds the commands of the core to the command line.
 *
 * @param overTenants adds many tenants to the commands of the history
 */
export function registerCommands(program: Command, cli: Cli, overTenants?: OverTenants): void {
  registerTenantCommands(program, cli);
  registerKeyCommands(program, cli);
  registerUsageCommand(program, cli);
  registerExpireCommand(program, cli);
  registerMemoryCommands(program, cli);
  registerRedactCommand(program, cli);
  registerPruneCommand(program, cli);
  registerLogCommand(program, cli, overTenants);
  registerShowCommand(program, cli);
  registerDiffCommand(program, cli);
  registerRestoreCommand(program, cli);
  registerRevertCommand(program, cli, overTenants);
  registerAuditCommand(program, cli);
  registerCompletionCommand(program, cli.io);
}
