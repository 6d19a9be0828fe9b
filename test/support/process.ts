import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const root = new URL('../..', import.meta.url);

export interface CliProcess {
  child: ChildProcess;
  /** Returns the output so far. */
  output(): string;
  /** Resolves with the first output line that matches. Rejects if the process ends first. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with the exit code when the process ends, or null if a signal ended it. */
  exit: Promise<number | null>;
}

/** Starts the compiled `memory-service` with only the given environment and PATH. */
export function startCli(args: string[], env: Record<string, string>): CliProcess {
  // PGlite's WebAssembly is compiled but not optimized, because the process ends before an optimization saves time.
  return startProcess(process.execPath, ['--liftoff-only', 'dist/main.js', ...args], env);
}

/** Starts a command in the project's root with only the given environment (and PATH). */
export function startProcess(command: string, args: string[], env: Record<string, string>): CliProcess {
  const child = spawn(command, args, {
    cwd: root,
    env: { PATH: process.env.PATH, NODE_ENV: 'test', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const watchers = new Set<() => void>();
  let ended = false;
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const check of watchers) check();
    });
  }
  const exit = once(child, 'close').then(([code]) => {
    ended = true;
    for (const check of watchers) check();
    return code as number | null;
  });
  return {
    child,
    output: () => lines.join('\n'),
    exit,
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          for (const line of lines) {
            const match = pattern.exec(line);
            if (!match) continue;
            watchers.delete(check);
            return resolve(match);
          }
          if (ended) reject(new Error(`ended without ${pattern}:\n${lines.join('\n')}`));
        };
        watchers.add(check);
        check();
      }),
  };
}

/** Starts `memory-service serve` on a free port and resolves once it listens. */
export async function startServer(env: Record<string, string>): Promise<CliProcess & { url: string }> {
  const server = startCli(['serve'], { PORT: '0', AUTH: 'none', ...env });
  const [, url] = await server.line(/(http:\/\/127\.0\.0\.1:\d+)/);
  return { ...server, url: url ?? '' };
}

/** Returns the admin listener's URL for a server with `ADMIN_PORT: '0'`, once it listens. */
export async function readAdminUrl(server: CliProcess & { url: string }): Promise<string> {
  const { port } = new URL(server.url);
  const [, url] = await server.line(new RegExp(`(http://127\\.0\\.0\\.1:(?!${port}\\b)\\d+)`));
  return url ?? '';
}

/** Sends POST /execute over a real socket. */
export async function post(
  url: string,
  input: object,
  headers: Record<string, string> = {},
): Promise<{ status: number; content: string; is_error: boolean }> {
  const response = await fetch(`${url}/execute`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(input),
  });
  return { status: response.status, ...((await response.json()) as { content: string; is_error: boolean }) };
}
