import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs `work` with a scratch folder, and at its end (Ctrl-C included) what it gave to `later`, the last first.
 */
export async function withCleanup(
  work: (scratch: string, later: (undo: () => unknown) => void) => Promise<void>,
): Promise<void> {
  const undos: (() => unknown)[] = [];
  const cleanUp = async () => {
    for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) {
      await Promise.resolve(undo()).catch((error: unknown) => console.error(String(error)));
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void cleanUp().finally(() => process.exit(1)));
  }
  const scratch = await mkdtemp(join(tmpdir(), 'memory-service-bench-'));
  undos.push(() => rm(scratch, { recursive: true, force: true, maxRetries: 10 }));
  try {
    await work(scratch, (undo) => undos.push(undo));
  } finally {
    await cleanUp();
  }
}

/** A whole number from the environment. */
export function setting(name: string, byDefault: number): number {
  const given = process.env[name];
  if (given === undefined || given === '') return byDefault;
  const value = Number(given);
  if (Number.isInteger(value) && value >= 0) return value;
  throw new Error(`${name} has to be a whole number`);
}

/** For the reader of a running bench; the results go to standard output. */
export function progress(message: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${message}`);
}
