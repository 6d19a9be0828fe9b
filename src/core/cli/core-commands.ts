import { auditCommand } from './audit-command.ts';
import type { CliEntry } from './cli-command.ts';
import { completionCommand } from './completion.ts';
import { keyCommands } from './key-commands.ts';
import { logCommand } from './log-command.ts';
import { expireCommand, historyCommands } from './maintenance-commands.ts';
import { catCommand, lsCommand, putCommand, rmCommand } from './memory-commands.ts';
import { redactCommand, restoreCommand } from './restore-commands.ts';
import { revertCommand } from './revert-command.ts';
import { tenantCommands } from './tenant-commands.ts';
import { usageCommand } from './usage-command.ts';
import { diffCommand, showCommand } from './version-commands.ts';

/** The core's commands. `src/service/order.ts` has their order in the help. */
export const CORE_COMMANDS: readonly CliEntry[] = [
  tenantCommands,
  keyCommands,
  usageCommand,
  expireCommand,
  lsCommand,
  catCommand,
  putCommand,
  rmCommand,
  redactCommand,
  historyCommands,
  logCommand,
  showCommand,
  diffCommand,
  restoreCommand,
  revertCommand,
  auditCommand,
  completionCommand,
];
