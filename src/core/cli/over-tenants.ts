import type { Command } from 'commander';
import type { VersionEntry } from '../admin/version-operations.ts';
import type { Side } from '../history/conflicts.ts';
import type { Caller, Context } from './caller.ts';
import type { Resolutions } from './resolutions.ts';
import type { SelectionOptions, toSelection } from './selection-options.ts';

/** History commands over many tenants, which a feature adds. */
export interface OverTenants {
  /** Yields many tenants' versions, tenant after tenant. */
  versions(
    caller: Caller,
    selection: ReturnType<typeof toSelection>,
    options: LogOptions,
  ): AsyncGenerator<LoggedVersion>;
  /** Checks the options, and returns the work that reverts an actor's changes in many tenants. */
  revert(options: RevertOptions, command: Command): (context: Context) => Promise<void>;
}

/** A version with its tenant. */
export type LoggedVersion = VersionEntry & { tenant: string };

export interface LogOptions extends SelectionOptions {
  pathContains?: string;
  since?: string;
  until?: string;
  by?: string;
  byContains?: string;
  operation?: VersionEntry['operation'];
  limit?: number;
  patch?: boolean;
  json?: boolean;
  content?: boolean;
  source?: string;
}

/** Exit code for a revert that left conflicts. */
export const CONFLICTS = 3;

export interface RevertOptions extends Resolutions<Side>, SelectionOptions {
  takeAll?: Side;
  by?: string;
  source?: string;
  since: string;
  until?: string;
  dryRun?: boolean;
  plan?: string;
  json?: boolean;
  yes?: boolean;
}
