import { type MemoryPath, ROOT } from '../../memory/path.ts';
import type { MemoryResult } from '../../memory/result.ts';
import type {
  Created,
  Deleted,
  Edit,
  Edited,
  Listing,
  LookupResult,
  MemoryStore,
  Renamed,
} from '../../memory/store.ts';

/** The path in a mounted memory that the caller sees as `path`. */
export function innerPath(path: MemoryPath, seenAt: MemoryPath): MemoryPath {
  return (ROOT + path.slice(seenAt.length)) as MemoryPath;
}

/** The path that the caller sees for one in a mounted memory. */
export function outerPath<Path extends string>(path: Path, seenAt: MemoryPath): Path {
  return (seenAt + path.slice(ROOT.length)) as Path;
}

/** Another memory as seen in a directory of the caller's: all paths, including those in outcomes, are the caller's. */
export class MountedStore implements MemoryStore {
  readonly #store: MemoryStore;
  readonly #seenAt: MemoryPath;
  readonly #reserveKey: () => Promise<void>;

  /** @param reserveKey takes the call's idempotency key in the caller's own memory, before the first write */
  constructor(store: MemoryStore, seenAt: MemoryPath, reserveKey: () => Promise<void>) {
    this.#store = store;
    this.#seenAt = seenAt;
    this.#reserveKey = once(reserveKey);
  }

  async lookup(path: MemoryPath, maxEntries: number): Promise<LookupResult> {
    const found = await this.#store.lookup(this.#inner(path), maxEntries);
    return found.kind === 'dir' ? { ...found, entries: this.#outer(found.entries) } : found;
  }

  async rootEntries(maxEntries: number): Promise<Listing> {
    const { entries, total } = await this.#store.rootEntries(maxEntries);
    return { entries: this.#outer(entries), total };
  }

  async create(path: MemoryPath, content: string, result: MemoryResult): Promise<Created> {
    if (path === this.#seenAt) return { kind: 'exists' };
    await this.#reserveKey();
    return this.#outerOutcome(await this.#store.create(this.#inner(path), content, result));
  }

  async edit<R>(
    path: MemoryPath,
    change: (content: string) => Edit<R> | Promise<Edit<R>>,
  ): Promise<Edited<R>> {
    await this.#reserveKey();
    return this.#store.edit(this.#inner(path), change);
  }

  async delete(path: MemoryPath, result: MemoryResult): Promise<Deleted> {
    await this.#reserveKey();
    return this.#store.delete(this.#inner(path), result);
  }

  async deleteIf(path: MemoryPath, isExpected: (content: string) => boolean, result: MemoryResult) {
    await this.#reserveKey();
    return this.#store.deleteIf(this.#inner(path), isExpected, result);
  }

  async rename(from: MemoryPath, to: MemoryPath, result: MemoryResult): Promise<Renamed> {
    await this.#reserveKey();
    return this.#outerOutcome(await this.#store.rename(this.#inner(from), this.#inner(to), result));
  }

  reserveKey(result: MemoryResult): Promise<void> {
    return this.#store.reserveKey(result);
  }

  recordFailure(result: MemoryResult): Promise<void> {
    return this.#store.recordFailure(result);
  }

  #inner(path: MemoryPath): MemoryPath {
    return innerPath(path, this.#seenAt);
  }

  #outer<Item extends { path: MemoryPath }>(items: readonly Item[]): Item[] {
    return items.map((item) => ({ ...item, path: outerPath(item.path, this.#seenAt) }));
  }

  #outerOutcome<Outcome extends { kind: string; path?: string }>(outcome: Outcome): Outcome {
    return outcome.path === undefined ? outcome : { ...outcome, path: outerPath(outcome.path, this.#seenAt) };
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
