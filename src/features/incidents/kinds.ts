import type { Config } from '../../core/config.ts';
import type { Database } from '../../core/database/database.ts';
import { eraseJobs } from './erase-job.ts';
import { findJobs } from './find-job.ts';
import type { JobKind } from './job-kind.ts';
import { revertJobs } from './revert-job.ts';

/** Returns the job kinds that this version can run. */
export function jobKinds(database: Database, config: Config): JobKind[] {
  return [findJobs(database), eraseJobs(database, config), revertJobs(database, config)];
}
