#!/usr/bin/env node
import { Command } from 'commander';
import { registerExpireCommand } from './cli/expire-command.ts';
import { registerHistoryCommands } from './cli/history-commands.ts';
import { registerKeyCommands } from './cli/key-commands.ts';
import { registerMemoryCommands } from './cli/memory-commands.ts';
import { registerPruneCommand } from './cli/prune-command.ts';
import { registerRedactCommand } from './cli/redact-command.ts';
import { registerRestoreCommand } from './cli/restore-command.ts';
import { registerRevertCommand } from './cli/revert-command.ts';
import { registerTenantCommands } from './cli/tenant-commands.ts';
import { OperatorError } from './errors.ts';
import { openSession, StartError, serve } from './server.ts';
import { version } from './version.ts';

const program = new Command('memory-service')
  .description("The backend for Claude's memory tool: POST /execute over Postgres.")
  .version(version)
  // A command may have an option --version of its own.
  .enablePositionalOptions()
  .showHelpAfterError();

const open = () => openSession(process.env);

program
  .command('serve')
  .description('Migrate the database and serve HTTP until SIGTERM or SIGINT. Configured by the environment.')
  .addHelpText(
    'after',
    '\nExample:\n  DATABASE_URL=postgres://user:password@localhost/memory memory-service serve',
  )
  .action(() => serve(process.env));

program
  .command('migrate')
  .description('Bring the database up to date, and end.')
  .addHelpText(
    'after',
    '\nExample:\n  DATABASE_URL=postgres://user:password@localhost/memory memory-service migrate',
  )
  .action(async () => {
    const { database } = await open();
    await database.close();
    console.log('The database is up to date.');
  });

registerTenantCommands(program, open);
registerKeyCommands(program, open);
registerExpireCommand(program, open);
registerMemoryCommands(program, open);
registerRedactCommand(program, open);
registerPruneCommand(program, open);
registerHistoryCommands(program, open);
registerRestoreCommand(program, open);
registerRevertCommand(program, open);

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof StartError || error instanceof OperatorError)) throw error;
  console.error(`memory-service: ${error.message}`);
  process.exit(error instanceof OperatorError ? error.exitCode : 1);
}
