import { useEffect, useState } from 'preact/hooks';
import { getJob, type Job } from '../../api/incidents-api.ts';
import { type Lost, useLost } from '../../ui/lost.tsx';
import { useLoad } from '../../ui/use-load.ts';
import { watch } from '../../ui/watch.ts';

const INTERVAL_MS = 1000;

export const isActive = ({ state }: Job) => state === 'queued' || state === 'running';

interface UsedJob {
  job: Job | undefined;
  error: unknown;
  /** Set while the progress cannot be read. */
  lost: Lost | null;
  reload: () => void;
  update: (job: Job) => void;
}

/** Loads a job, and reads its progress every second until its end. */
export function useJob(id: string): UsedJob {
  const { data, error, reload } = useLoad((signal) => getJob(id, signal), [id]);
  const [newer, setNewer] = useState<Job>();
  const { lost, onResult } = useLost();
  const job = newer?.id === id ? newer : data;
  const isRunning = job !== undefined && isActive(job);
  useEffect(() => {
    if (!isRunning) return;
    return watch(async (signal) => setNewer(await getJob(id, signal)), {
      intervalMs: INTERVAL_MS,
      now: false,
      onResult,
    });
  }, [id, isRunning]);
  return { job, error, lost: isRunning ? lost : null, reload, update: setNewer };
}
