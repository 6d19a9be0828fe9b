import { join, resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Config } from '../config.ts';
import { OperatorError } from '../errors.ts';
import { type Database, type EmbeddedEvents, openDatabase } from '../postgres/database.ts';
import { DataDirectoryInUse, hasDatabase } from './data-directory.ts';
import { connectToServedDatabase } from './served-database.ts';

/**
 * Opens the configured database for a command other than `serve`. An embedded database must exist. While a process serves it, the
 * command goes through that process.
 *
 * @throws OperatorError when there is none, or the process that uses it accepts no commands
 */
export async function openExistingDatabase(config: Config, events: EmbeddedEvents): Promise<Database> {
  if (config.DATABASE_URL !== undefined) return openDatabase(config, events);
  const { DATA_DIR: folder } = config;
  const served = await connectToServedDatabase(folder);
  if (served !== undefined) return served;
  if (!hasDatabase(join(folder, 'pglite'))) {
    throw new OperatorError(
      `There is no embedded database in ${resolve(folder)}. Set DATABASE_URL, or DATA_DIR to the folder of the service. To create a database there, start the service: memory-service serve`,
    );
  }
  // PGlite's WebAssembly is compiled but not optimized: most commands end before that pays.
  setFlagsFromString('--liftoff-only');
  try {
    return await openDatabase(config, events);
  } catch (error) {
    if (!(error instanceof DataDirectoryInUse)) throw error;
    throw new OperatorError(`${error.message}\n${TAKES_NO_COMMANDS}`);
  }
}

const TAKES_NO_COMMANDS =
  process.platform === 'win32'
    ? 'On Windows, a service that runs on the embedded database accepts no commands. Stop it first.'
    : 'That process accepts no commands, because it is still starting or is a command itself. Try again shortly.';
