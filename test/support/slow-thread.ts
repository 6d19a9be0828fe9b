/** A module for `WorkerThreads`. */
export default function work(task: 'endless' | 'quick'): string {
  if (task === 'endless') for (;;);
  return task;
}
