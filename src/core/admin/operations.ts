import * as auditEvents from './audit-events.ts';
import * as changes from './changes.ts';
import * as diffs from './diffs.ts';
import * as files from './files.ts';
import * as keys from './keys.ts';
import * as maintenance from './maintenance.ts';
import * as memory from './memory.ts';
import * as mounts from './mounts.ts';
import { operationsIn } from './operation.ts';
import * as redactions from './redactions.ts';
import * as reverts from './reverts.ts';
import * as session from './session.ts';
import * as tenants from './tenants.ts';
import * as timeline from './timeline.ts';
import * as usage from './usage.ts';
import * as versions from './versions.ts';

/** Operations of the core in the admin API. */
export const OPERATIONS = operationsIn(
  auditEvents,
  changes,
  diffs,
  files,
  keys,
  maintenance,
  memory,
  mounts,
  redactions,
  reverts,
  session,
  tenants,
  timeline,
  usage,
  versions,
);
