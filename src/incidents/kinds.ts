import type { Database } from '../database/database.ts';
import { findJobs } from './find-job.ts';
import type { JobKind } from './runner.ts';

/** Returns the kinds of jobs that this version can run. */
export function jobKinds(database: Database): JobKind[] {
  return [findJobs(database)];
}
