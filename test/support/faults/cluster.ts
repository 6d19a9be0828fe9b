import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CITUS_SCRIPT, citusPort } from '../postgres/citus.ts';
import { createDatabase, query } from '../postgres/cluster.ts';
import { databaseUrl } from '../postgres/server.ts';

const run = promisify(execFile);

/** A Citus cluster whose nodes can be killed and added: node 0 is the coordinator, the others are workers. */
export class FaultyCluster {
  readonly #folder: string;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(folder: string, settings: Record<string, string>) {
    this.#folder = folder;
    this.#env = { ...process.env, CITUS_DIR: folder, CITUS_PORT: citusPort(), ...settings };
  }

  /** @param settings environment variables of citus-cluster.sh */
  static async start(folder: string, settings: Record<string, string>): Promise<FaultyCluster> {
    const cluster = new FaultyCluster(folder, settings);
    try {
      await cluster.#call('install');
      await cluster.#call('start', '2', folder);
    } catch (error) {
      await cluster.remove();
      throw error;
    }
    return cluster;
  }

  /** Creates a database on all nodes, or makes one that the coordinator has known to all, and returns its URL on the coordinator. */
  async createDatabase(name: string): Promise<string> {
    return (await this.#call('createdb', name, this.#folder)).trim().split('\n').at(-1) ?? '';
  }

  /** Creates a database without the extension, on the coordinator alone, and returns its URL. */
  async createPlainDatabase(name: string): Promise<string> {
    const url = (await this.#call('url', 'postgres', this.#folder)).trim();
    await createDatabase({ isCitus: false, nodes: [url] }, name);
    return databaseUrl(url, name);
  }

  /** The URLs of a database on the workers. */
  async workers(url: string): Promise<string[]> {
    const nodes = await query(url, 'SELECT nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY groupid');
    return nodes.map(({ nodeport }) => {
      const worker = new URL(url);
      worker.port = String(nodeport);
      return worker.href;
    });
  }

  addWorker = () => this.#call('add-worker', this.#folder);
  kill = (node: number) => this.#call('kill-worker', String(node), this.#folder);
  restart = (node: number) => this.#call('start-worker', String(node), this.#folder);
  remove = () => this.#call('remove', this.#folder);

  async #call(...args: string[]): Promise<string> {
    return (await run(CITUS_SCRIPT, args, { env: this.#env })).stdout;
  }
}
