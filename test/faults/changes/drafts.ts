import type { Random } from '../../support/random.ts';
import type { Row } from '../fault-report.ts';
import type { Cluster } from './cluster.ts';
import type { Change } from './history.ts';
import { randomInput } from './input.ts';
import type { ToolCalls } from './tool-calls.ts';

interface Comparison {
  review: string;
  changes: { memory_id: string }[];
}

const MAX_WRITES = 5;
/** Number of reviews after which a draft that others' writes change is rejected. */
const MAX_REVIEWS = 3;

/** Opens drafts, and merges or rejects them. */
export class Drafts {
  readonly #cluster: Cluster;
  readonly #calls: ToolCalls;
  /** The last event's type, by draft. */
  readonly #ends = new Map<string, string>();

  constructor(cluster: Cluster, calls: ToolCalls) {
    this.#cluster = cluster;
    this.#calls = calls;
  }

  /** Opens a draft, writes to it, and merges or rejects it. */
  async work(random: Random, tenant: string): Promise<void> {
    const response = await this.#cluster.admin(random, `/tenants/${tenant}/drafts`, { title: 'tidy' });
    if (response?.status !== 200) return;
    const { id } = response.body as { id: string };
    for (let i = random.below(MAX_WRITES); i >= 0; i--)
      await this.#calls.send(random, id, randomInput(random));
    const path = `/tenants/${tenant}/drafts/${id}`;
    if (random.below(3) > 0) await this.#merge(random, path);
    // Rejects a draft that is not merged.
    await this.#cluster.insist(random, `${path}/close`, {});
    const { body } = await this.#cluster.insist(random, path);
    this.#ends.set(id, `draft_${(body as { state: string }).state}`);
  }

  /** Checks that each draft was opened once, and then closed once. */
  check(changes: readonly Change[], row: Row): void {
    const byDraft = Map.groupBy(changes, ({ draft }) => draft);
    for (const [draft, end] of this.#ends) {
      const types = byDraft.get(draft)?.map(({ type }) => type);
      row.expect(types?.join() === `draft_opened,${end}`, `${draft}: ${types} instead of ${end}`);
      row.count(end.replace('draft_', 'drafts '), 1);
    }
  }

  /** An attempt without a response may merge the draft too. */
  async #merge(random: Random, path: string): Promise<void> {
    const take = random.of(['draft', 'original']);
    for (let i = 0; i < MAX_REVIEWS; i++) {
      const compared = await this.#cluster.insist(random, `${path}/changes?only_conflicts=true&limit=1000`);
      if (compared.status !== 200) return;
      const { review, changes } = compared.body as Comparison;
      const resolutions = changes.map(({ memory_id }) => ({ memory_id, take }));
      const merged = await this.#cluster.insist(random, `${path}/merge`, { review, resolutions });
      if (merged.status === 200) return;
    }
  }
}
