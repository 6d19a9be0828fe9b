import type { Command } from 'commander';
import { OPERATIONS } from '../core/admin/admin-operations.ts';
import type { Cli } from '../core/cli/cli-command.ts';
import { CORE_COMMANDS } from '../core/cli/core-commands.ts';
import type { Feature } from '../core/feature.ts';
import { archive } from '../features/archive/feature.ts';
import { context } from '../features/context/feature.ts';
import { drafts } from '../features/drafts/feature.ts';
import { feed } from '../features/feed/feature.ts';
import { health } from '../features/health/feature.ts';
import { incidents } from '../features/incidents/feature.ts';
import { mcp } from '../features/mcp/feature.ts';
import { memoryStores } from '../features/memory-stores/feature.ts';
import { provenance } from '../features/provenance/feature.ts';
import { reads } from '../features/reads/feature.ts';
import { search } from '../features/search/feature.ts';
import { secrets } from '../features/secrets/feature.ts';
import { sharing } from '../features/sharing/feature.ts';
import { signIn } from '../features/sign-in/feature.ts';
import { sync } from '../features/sync/feature.ts';
import { telemetry } from '../features/telemetry/feature.ts';
import { webhooks } from '../features/webhooks/feature.ts';
import { COMMANDS, OPERATION_IDS, sortByNames } from './order.ts';

/** All features, in the order in which they start and register their routes. A feature follows the features it uses. */
export const FEATURES: readonly Feature[] = [
  telemetry,
  signIn,
  secrets,
  search,
  context,
  reads,
  provenance,
  feed,
  webhooks,
  sharing,
  drafts,
  incidents,
  archive,
  health,
  mcp,
  memoryStores,
  sync,
];

/** Returns the admin API operations, in document order. */
export function adminOperations() {
  const all = [...OPERATIONS, ...FEATURES.flatMap(({ operations = [] }) => operations)];
  return sortByNames(all, OPERATION_IDS, ({ id }) => id);
}

/** Adds all commands to the command line, ordered as in its help. */
export function addCommands(program: Command, parts: Omit<Cli, 'overTenants'>): void {
  const cli = { ...parts, overTenants: FEATURES.find((feature) => feature.overTenants)?.overTenants };
  const entries = [...CORE_COMMANDS, ...FEATURES.flatMap(({ commands = [] }) => commands)];
  for (const entry of entries) program.addCommand(entry(cli));
  // Commander has no other way to change the order of commands.
  (program.commands as Command[]).splice(
    0,
    Infinity,
    ...sortByNames(program.commands, COMMANDS, (each) => each.name()),
  );
}
