import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, SERVICE, startServer } from './process.ts';
import { median } from './statistics.ts';

/** The service's footprint. A value is undefined if it cannot be measured on this machine. */
export interface Lean {
  startOnPostgresMs: number;
  startOnPgliteMs: number;
  idleBytes: number | undefined;
  mixBytes: number | undefined;
  directDependencies: number;
  allDependencies: number;
  installedBytes: number | undefined;
  imageBytes: number | undefined;
}

const STARTS = 5;

/** Returns the median time from process start until the service is ready, on an existing database. */
export async function measureStart(scratch: string, env: Record<string, string>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    const server = await startServer(SERVICE, { env, scratch, name: 'start', ready: '/readyz' });
    times.push(server.readyAfterMs);
    await server.stop();
  }
  return median(times);
}

export function countDependencies(): { directDependencies: number; allDependencies: number } {
  const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'));
  const packages = Object.entries(read('package-lock.json').packages as Record<string, { dev?: boolean }>);
  return {
    directDependencies: Object.keys(read('package.json').dependencies).length,
    allDependencies: packages.filter(([path, { dev }]) => path !== '' && !dev).length,
  };
}

/**
 * Returns the installed size after `npm ci --omit=dev` in bytes, or undefined if npm cannot run (for
 * example without a network).
 */
export function measureInstall(scratch: string): number | undefined {
  const directory = join(scratch, 'install');
  mkdirSync(directory);
  for (const file of ['package.json', 'package-lock.json'])
    copyFileSync(join(root, file), join(directory, file));
  try {
    const args = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
    execFileSync('npm', args, { cwd: directory, stdio: 'ignore' });
    return (
      1024 * Number.parseInt(execFileSync('du', ['-sk', 'node_modules'], { cwd: directory }).toString(), 10)
    );
  } catch {
    return undefined;
  }
}

/** Returns the size of the image `memory-service`, or undefined if the image does not exist. */
export function imageBytes(): number | undefined {
  try {
    const args = ['image', 'inspect', '--format', '{{.Size}}', 'memory-service'];
    return Number(execFileSync('docker', args, { stdio: ['ignore', 'pipe', 'ignore'] }).toString());
  } catch {
    return undefined;
  }
}
