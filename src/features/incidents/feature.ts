import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import * as erase from './admin/erase-operations.ts';
import * as find from './admin/find-operations.ts';
import * as fleetVersions from './admin/fleet-versions.ts';
import * as jobs from './admin/job-operations.ts';
import * as keptOut from './admin/kept-out-operations.ts';
import * as receipts from './admin/receipt-operations.ts';
import * as revertJobs from './admin/revert-jobs.ts';
import { eraseCommand } from './cli/erase-command.ts';
import { findCommand } from './cli/find-command.ts';
import { jobCommands } from './cli/job-commands.ts';
import { keepOutCommands } from './cli/keep-out.ts';
import { readManyVersions } from './cli/log-many.ts';
import { receiptCommands } from './cli/receipt-commands.ts';
import { revertMany } from './cli/revert-many.ts';

/** Finding, erasing, and reverting in many tenants, texts that are kept out, and receipts. */
export const incidents: Feature = {
  name: 'incidents',
  uses: ['drafts', 'search'],
  operations: operationsIn(erase, find, fleetVersions, jobs, keptOut, receipts, revertJobs),
  commands: [keepOutCommands, receiptCommands, findCommand, eraseCommand, jobCommands],
  async start({ config, database, log }) {
    const [{ deleteExpiredJobs }, { jobKinds }, { JobRunner }, { JobFaults }] = await Promise.all([
      import('./jobs.ts'),
      import('./kinds.ts'),
      import('./runner.ts'),
      import('../../core/database/job-faults.ts'),
    ]);
    const faults = new JobFaults(log);
    const runner = new JobRunner(database, jobKinds(database, config), ({ id, kind }, error) =>
      faults.report(kind, error, 'a job failed in a tenant', { id }),
    );
    return {
      hourly: {
        async jobs() {
          await deleteExpiredJobs(database);
        },
      },
      everySecond: { 'tenant jobs': () => runner.run() },
      stopJobs: () => runner.stop(),
    };
  },
  overTenants: { versions: readManyVersions, revert: revertMany },
};
