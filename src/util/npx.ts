import { readFileSync } from 'node:fs';

const CHECK_EVERY_MS = 500;

/**
 * Calls `onEnd` once the `npx` that started this process has ended. npx does not pass signals on: it runs a shell that runs the command, and
 * ends without it. Other parents may end while the process goes on, as with `nohup`.
 *
 * @returns a function that stops the watch
 */
export function watchNpx(env: NodeJS.ProcessEnv, onEnd: () => void): () => void {
  if (env.npm_command !== 'exec') return () => {};
  const parent = process.ppid;
  const grandparent = shellParent(parent);
  const timer = setInterval(() => {
    if (process.ppid === parent && shellParent(parent) === grandparent) return;
    clearInterval(timer);
    onEnd();
  }, CHECK_EVERY_MS).unref();
  return () => clearInterval(timer);
}

/** The parent of a process that is a shell, where the system says so. After `kill -9` of npx, the shell lives on. */
function shellParent(pid: number): string | undefined {
  try {
    const [, name, parent] = /^\d+ \((.*)\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return name?.endsWith('sh') ? parent : undefined;
  } catch {
    // No Linux, or the shell has just ended.
    return undefined;
  }
}
