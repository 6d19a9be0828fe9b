import type { FastifyPluginAsync } from 'fastify';
import type { Logger } from 'pino';
import type { AnyAdminOperation } from './admin/admin-operation.ts';
import type { FeatureText } from './agents/feature-text.ts';
import type { Redirect } from './agents/redirect.ts';
import type { FeatureTool } from './agents/tool.ts';
import type { CliEntry } from './cli/cli-command.ts';
import type { OverTenants } from './cli/over-tenants.ts';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import type { Services } from './files/services.ts';

/**
 * A feature beside the core: one directory in `src/features`. The command line loads this declaration too, so a
 * declaration imports no routes; `start` loads them. `src/service` lists and composes the features.
 */
export interface Feature {
  /** The directory's name. */
  name: string;
  /** Other features that its modules import. A test compares the names with the imports. */
  uses: readonly string[];
  /** Admin API operations. */
  operations?: readonly AnyAdminOperation[];
  /** Commands for the command line. */
  commands?: readonly CliEntry[];
  /** Adds many tenants to the history commands. At most one feature has it. */
  overTenants?: OverTenants;
  /** Starts the feature in a service for agents. */
  start?(core: Core): Promise<Part>;
}

/** The core that a started feature uses. */
export interface Core {
  config: Config;
  database: Database;
  services: Services;
  log: Logger;
}

/** A started feature's routes and behavior. */
export interface Part {
  /** Routes for agents, behind authentication and the limits. */
  agentRoutes?: FastifyPluginAsync;
  /** Routes that need no credential. */
  openRoutes?: FastifyPluginAsync;
  /** A tool that `POST /execute` and MCP serve beside the memory tool. */
  tool?: FeatureTool;
  /** A text that MCP serves as a resource and a prompt. */
  text?: FeatureText;
  /** Redirects requests from propose-only keys. At most one feature has it. */
  redirect?: Redirect;
  /** Work that a replica does each hour, by the name that the log gives it. */
  hourly?: Jobs;
  /** Work that a replica does each second. */
  everySecond?: Jobs;
  /** Ends running jobs when the replica stops. */
  stopJobs?(): Promise<void>;
}

export type Jobs = Readonly<Record<string, () => Promise<unknown>>>;
