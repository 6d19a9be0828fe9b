import { useEffect, useState } from 'preact/hooks';
import { getJob, type Job } from '../../api/incidents.ts';
import { useLoad } from '../../ui/use-load.ts';
import { watch } from '../../ui/watch.ts';

const INTERVAL_MS = 1000;

export const isActive = ({ state }: Job) => state === 'queued' || state === 'running';

/** Loads a job, and reads its progress every second until its end. */
export function useJob(id: string) {
  const { data, error, reload } = useLoad((signal) => getJob(id, signal), [id]);
  const [newer, setNewer] = useState<Job>();
  const job = newer?.id === id ? newer : data;
  const isRunning = job !== undefined && isActive(job);
  useEffect(() => {
    if (!isRunning) return;
    return watch(async (signal) => setNewer(await getJob(id, signal)), {
      intervalMs: INTERVAL_MS,
      now: false,
    });
  }, [id, isRunning]);
  return { job, error, reload, update: setNewer };
}
