import * as activity from './activity-operation.ts';
import { operationsIn } from './admin-operation.ts';
import * as session from './admin-session.ts';
import * as auditEvents from './audit-events.ts';
import * as changes from './change-operations.ts';
import * as commands from './command-operations.ts';
import * as diffs from './diffs.ts';
import * as files from './file-operations.ts';
import * as keys from './key-operations.ts';
import * as maintenance from './maintenance-operations.ts';
import * as memory from './memory-operations.ts';
import * as mounts from './mount-operations.ts';
import * as redactions from './redactions.ts';
import * as reverts from './reverts.ts';
import * as tenants from './tenant-operations.ts';
import * as timeline from './timeline-operations.ts';
import * as usage from './usage-operations.ts';
import * as versions from './version-operations.ts';

/** The core's operations in the admin API. */
export const OPERATIONS = operationsIn(
  activity,
  auditEvents,
  changes,
  commands,
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
