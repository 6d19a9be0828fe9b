import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs `work` with a scratch directory. Afterwards, even on Ctrl-C, runs the functions passed to `later` in reverse
 * order.
 */
export async function withCleanup(
  work: (scratch: string, addCleanup: (undo: () => unknown) => void) => Promise<void>,
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

/** Returns a number from an environment variable. It must be a whole number unless `isDecimal`. */
export function setting(name: string, defaultValue: number, { isDecimal = false } = {}): number {
  const given = process.env[name];
  return given === undefined || given === '' ? defaultValue : parseSetting(name, given, isDecimal);
}

/** Returns the numbers in a comma-separated list from an environment variable. */
export function settings(name: string, defaultValue: number, { isDecimal = false } = {}): number[] {
  const given = process.env[name];
  if (given === undefined || given === '') return [defaultValue];
  return given.split(',').map((each) => parseSetting(name, each, isDecimal));
}

function parseSetting(name: string, given: string, isDecimal: boolean): number {
  const value = Number(given);
  if ((isDecimal ? Number.isFinite(value) : Number.isInteger(value)) && value >= 0) return value;
  throw new Error(`${name} must be a ${isDecimal ? '' : 'whole '}number`);
}

/** Prints progress to standard error. Results are printed to standard output. */
export function progress(message: string): void {
  console.error(`${new Date().toISOString().slice(11, 19)} ${message}`);
}
