import { setTimeout as delay } from 'node:timers/promises';
import type { PostgresServer } from '../../support/faults/postgres-server.ts';
import type { Random } from '../../support/random.ts';
import { becomesTrue } from '../environment.ts';
import type { Row } from '../fault-report.ts';
import type { Cluster } from './cluster.ts';

const MAX_DOWN_MS = 1000;
/** Time after a recovery in which clients connect again. */
const RECONNECT_MS = 3000;

/** Kills replicas and Postgres, and starts them again. */
export class Killer {
  /** Intervals with a process down, in epoch milliseconds. */
  readonly #outages: { from: number; until: number }[] = [];
  readonly #cluster: Cluster;
  readonly #postgres: PostgresServer;
  readonly #random: Random;
  readonly #row: Row;

  constructor(cluster: Cluster, postgres: PostgresServer, random: Random, row: Row) {
    this.#cluster = cluster;
    this.#postgres = postgres;
    this.#random = random;
    this.#row = row;
  }

  async kill(): Promise<void> {
    const [row, random, from] = [this.#row, this.#random, Date.now()];
    const kind = random.below(10);
    if (kind < 6) {
      const { replica } = random.of(this.#cluster.members);
      await replica.end('SIGKILL');
      await delay(random.below(MAX_DOWN_MS));
      await replica.start();
    } else if (kind < 8) {
      await this.#postgres.killBackend();
    } else {
      await this.#postgres.kill(kind === 8 ? 'postmaster' : 'all');
      await delay(random.below(MAX_DOWN_MS));
      await this.#postgres.start();
    }
    row.times++;
    row.count(kind < 6 ? 'kills of a replica' : kind < 8 ? 'kills of a backend' : 'kills of Postgres', 1);
    row.expect(await becomesTrue(60_000, () => this.#cluster.isReady()), 'a replica did not become ready');
    row.noteRecovery(Date.now() - from);
    this.#outages.push({ from, until: Date.now() + RECONNECT_MS });
  }

  /** Whether a process was down, or clients were connecting again, in an interval. */
  hasOutage(from: number, until: number): boolean {
    return this.#outages.some((outage) => from <= outage.until && until >= outage.from);
  }
}
