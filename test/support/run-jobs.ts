import { loadConfig } from '../../src/core/config.ts';
import { jobKinds } from '../../src/features/incidents/kinds.ts';
import { JobRunner } from '../../src/features/incidents/runner.ts';
import type { Service } from './test-service.ts';

const IDLE_MS = 100;

/** Runs a service's jobs as the process does, until the returned function is called. */
export function runJobs({ database }: Pick<Service, 'database'>): () => Promise<void> {
  const runner = new JobRunner(database, jobKinds(database, loadConfig({ AUTH: 'keys' })), (_, error) => {
    throw error;
  });
  let isStopped = false;
  const done = (async () => {
    while (!isStopped) {
      await runner.run();
      await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
    }
  })();
  return async () => {
    isStopped = true;
    await runner.stop();
    await done;
  };
}
