import { auditCommand } from './audit.ts';
import type { CliEntry } from './command.ts';
import { completionCommand } from './completion.ts';
import { keyCommands } from './keys.ts';
import { logCommand } from './log.ts';
import { expireCommand, historyCommands } from './maintenance.ts';
import { catCommand, lsCommand, putCommand, rmCommand } from './memory.ts';
import { revertCommand } from './revert.ts';
import { tenantCommands } from './tenants.ts';
import { redactCommand, restoreCommand } from './undo.ts';
import { usageCommand } from './usage.ts';
import { diffCommand, showCommand } from './versions.ts';

/** Commands of the core. `src/service/order.ts` has their order in the help. */
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
