import type { Command } from 'commander';
import { registerDiffCommand } from './diff-command.ts';
import type { Io } from './io.ts';
import { registerLogCommand } from './log-command.ts';
import type { Open } from './session.ts';
import { registerShowCommand } from './show-command.ts';

/** `log`, `show` and `diff`: what happened to a tenant's memory. */
export function registerHistoryCommands(program: Command, open: Open, io: Io = process): void {
  registerLogCommand(program, open, io);
  registerShowCommand(program, open, io);
  registerDiffCommand(program, open, io);
}
