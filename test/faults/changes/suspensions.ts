import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../support/random.ts';
import type { Row } from '../fault-report.ts';
import type { Cluster } from './cluster.ts';
import type { Change } from './history.ts';

const MAX_SUSPENDED_MS = 1500;

/** Suspends tenants for a short time. */
export class Suspensions {
  readonly #cluster: Cluster;
  /** Number of suspensions, by tenant. */
  readonly #counts = new Map<string, number>();
  readonly #suspended = new Set<string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** Suspends a tenant, and resumes it, unless another writer does. */
  async suspend(random: Random, tenant: string): Promise<void> {
    if (this.#suspended.has(tenant)) return;
    this.#suspended.add(tenant);
    await this.#cluster.insist(random, `/tenants/${tenant}/suspend`, {});
    await delay(random.below(MAX_SUSPENDED_MS));
    await this.#cluster.insist(random, `/tenants/${tenant}/resume`, {});
    this.#suspended.delete(tenant);
    this.#counts.set(tenant, (this.#counts.get(tenant) ?? 0) + 1);
  }

  /** Checks that each suspension made two events. */
  check(changes: readonly Change[], row: Row): void {
    for (const [tenant, count] of this.#counts) {
      const types = changes.filter((change) => change.tenant === tenant).map(({ type }) => type);
      const found = types.filter((type) => type === 'tenant_suspended' || type === 'tenant_resumed');
      const expected = Array(count).fill(['tenant_suspended', 'tenant_resumed']).flat();
      row.expect(found.join() === expected.join(), `${tenant}: ${found} after ${count} suspensions`);
      row.count('suspensions', count);
    }
  }
}
