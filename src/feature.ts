import type { Command } from 'commander';
import type { AnyAdminOperation } from './admin/operation.ts';
import type { Cli } from './cli/caller.ts';

/**
 * A feature beside the core: one directory of `src/features`. This declaration is loaded by the command line too, so it
 * imports no routes and no server code. `src/service` composes the features and starts their parts.
 */
export interface Feature {
  /** Name of the directory. */
  name: string;
  /** Other features that its modules import. A test compares the list with the imports. */
  uses: readonly string[];
  /** Operations of the admin API. */
  operations?: readonly AnyAdminOperation[];
  /** Adds the commands of the command line. */
  commands?(program: Command, cli: Cli): void;
}
