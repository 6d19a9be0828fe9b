import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createDatabase, query } from '../postgres/database-cluster.ts';
import { databaseUrl } from '../postgres/test-server.ts';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('../../../scripts/citus-cluster', import.meta.url));

/** Thrown if no Citus cluster can be started on this machine. */
export class NoCluster extends Error {
  override name = 'NoCluster';
}

/**
 * A Citus cluster in Docker whose nodes can be killed, frozen, and added. Node 0 is the coordinator, and the others are
 * workers. `CITUS_IMAGE` overrides the image in `scripts/citus-cluster`.
 */
export class FaultyCluster {
  readonly #name = `memory-citus-${randomBytes(4).toString('hex')}`;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(settings: Record<string, string>) {
    // A random range, so that two clusters rarely use the same ports.
    const port = 20_000 + 20 * Math.floor(Math.random() * 400);
    this.#env = { ...process.env, CITUS_NAME: this.#name, CITUS_PORT: String(port), ...settings };
  }

  /**
   * @param settings environment variables for `scripts/citus-cluster`
   * @throws NoCluster without Docker on this machine
   */
  static async start(settings: Record<string, string>): Promise<FaultyCluster> {
    try {
      await run('docker', ['version', '--format', '{{.Server.Version}}']);
    } catch {
      throw new NoCluster(
        'This needs a Citus cluster, which it starts in Docker, and no Docker engine responds here.',
      );
    }
    const cluster = new FaultyCluster(settings);
    try {
      await cluster.#call('start', '2');
    } catch (error) {
      await cluster.remove();
      const { stderr = '' } = error as { stderr?: string };
      throw new NoCluster(
        `The Citus cluster did not start: ${stderr.trim().split('\n').at(-1) || String(error)}`,
      );
    }
    return cluster;
  }

  /**
   * Creates a database on all nodes, or extends a database on the coordinator to all nodes. Returns its URL on the
   * coordinator.
   */
  async createDatabase(name: string): Promise<string> {
    return (await this.#call('createdb', name)).trim().split('\n').at(-1) ?? '';
  }

  /** Creates a database without the extension on the coordinator alone and returns its URL. */
  async createPlainDatabase(name: string): Promise<string> {
    const url = (await this.#call('url')).trim();
    await createDatabase({ isCitus: false, nodes: [url] }, name);
    return databaseUrl(url, name);
  }

  /** Returns the URLs for a database on the workers. */
  async workers(url: string): Promise<string[]> {
    const nodes = await query(url, 'SELECT nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY groupid');
    return nodes.map(({ nodeport }) => {
      const worker = new URL(url);
      worker.port = String(nodeport);
      return worker.href;
    });
  }

  addWorker = () => this.#call('add-worker');
  kill = (node: number) => this.#call('kill', String(node));
  restart = (node: number) => this.#call('restart', String(node));
  /** Freezes a node, whose connections stay open. */
  pause = (node: number) => this.#call('pause', String(node));
  unpause = (node: number) => this.#call('unpause', String(node));
  remove = () => this.#call('remove');

  /** Runs a Postgres program in the coordinator's container, where the program has the server's version. */
  async runOnCoordinator(program: string, args: string[]): Promise<void> {
    await run('docker', ['exec', `${this.#name}-0`, program, ...args]);
  }

  async #call(...args: string[]): Promise<string> {
    return (await run(SCRIPT, args, { env: this.#env })).stdout;
  }
}
