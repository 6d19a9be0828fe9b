import { getJob, type Job } from '../../api/incidents-api.ts';
import { useLoad } from '../../ui/use-load.ts';

const INTERVAL_MS = 1000;

export const isActive = ({ state }: Job) => state === 'queued' || state === 'running';

/** Loads a job, and its progress every second until its end. */
export const useJob = (id: string) =>
  useLoad(
    (signal) => getJob(id, signal),
    [id],
    'job',
    (job) => job !== undefined && isActive(job) && INTERVAL_MS,
  );
