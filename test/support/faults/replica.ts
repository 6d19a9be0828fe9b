import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from './postgres-server.ts';

const root = new URL('../../..', import.meta.url);
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A service process that can be killed and restarted on the same port. */
export class Replica {
  readonly url: string;
  readonly #env: Record<string, string>;
  #child: ChildProcess | undefined;
  #output = '';
  #onLine: ((line: string) => void) | undefined;

  readonly #cli: string;

  private constructor(port: number, env: Record<string, string>, cli: string) {
    this.#cli = cli;
    this.url = `http://127.0.0.1:${port}`;
    this.#env = { PORT: String(port), ...env };
  }

  /** @param cli path to the program, by default `FAULTS_CLI` or dist/main.js */
  static async create(
    env: Record<string, string>,
    cli = process.env.FAULTS_CLI ?? 'dist/main.js',
  ): Promise<Replica> {
    const quiet = { AUTH: 'none', LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '0' };
    return new Replica(await freePort(), { ...quiet, ...env }, cli);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null;
  }

  /** Sets a listener for each line that the process prints, from its next start on. */
  onLine(listener: (line: string) => void): void {
    this.#onLine = listener;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [this.#cli, 'serve'], {
      cwd: root,
      env: { PATH: process.env.PATH, ...this.#env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text) => {
        this.#output = (this.#output + text).slice(-4000);
      });
      if (this.#onLine) createInterface({ input: stream }).on('line', this.#onLine);
    }
    this.#child = child;
    while ((await this.status('/readyz')) !== 200) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the service ended:\n${this.#output}`);
      await delay(20);
    }
  }

  stopReadingOutput(): void {
    this.#child?.stdout?.pause();
    this.#child?.stderr?.pause();
  }

  /** Returns a route's response status, or 0 if the service does not respond. */
  async status(path: string): Promise<number> {
    try {
      const answer = await fetch(this.url + path);
      await answer.text();
      return answer.status;
    } catch {
      return 0;
    }
  }

  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.url}/metrics`)).text();
    return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]);
  }

  /** Ends the process with a signal. Resolves with its exit code, or null after SIGKILL. */
  async end(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<number | null> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return null;
    const gone = once(child, 'exit');
    child.kill(signal);
    const [code] = await gone;
    return code;
  }
}
