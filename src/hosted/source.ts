import { createHash } from 'node:crypto';
import type { SourceEntry } from '../archive/source/entry.ts';
import { ancestorsOf, type MemoryPath } from '../memory/path.ts';
import { fileOf, readWithVersions } from './snapshot.ts';
import type { HostedStore } from './store.ts';

/** Where memories go that has files or a history already: the SHA-256 of each file there, in hexadecimal, by its path. */
export interface Destination {
  files: ReadonlyMap<string, string>;
  /** The path of the file that a memory becomes. */
  placed: (path: string) => string;
  /** The content that would be kept of one with secrets. */
  masked: (content: string) => Promise<string>;
}

/**
 * A store to import: with its versions, or only the memories that are missing at the destination. The counts are right once the entries
 * have been read.
 */
export class HostedSource {
  /** How many memories are at the destination already. */
  unchanged = 0;
  /** Memories that are left alone, because another file is in the way. */
  readonly differing: string[] = [];
  /** How many versions this service cannot have. */
  versionsLeftOut = 0;
  readonly #store: HostedStore;

  constructor(store: HostedStore) {
    this.#store = store;
  }

  withVersions(onVersion: (versions: number) => void): AsyncGenerator<SourceEntry> {
    const onLeftOut = (versions: number) => {
      this.versionsLeftOut = versions;
    };
    return readWithVersions(this.#store, { onVersion, onLeftOut });
  }

  async *missingFrom({ files, placed, masked }: Destination): AsyncGenerator<SourceEntry> {
    const directories = new Set([...files.keys()].flatMap((path) => ancestorsOf(path as MemoryPath)));
    for await (const memory of this.#store.memories('full')) {
      const { path, content_sha256: sha256, content } = memory;
      const place = placed(path) as MemoryPath;
      const there = files.get(place);
      if (there === undefined) {
        const isFree = !directories.has(place) && !ancestorsOf(place).some((above) => files.has(above));
        if (isFree) yield fileOf(path, memory);
        else this.differing.push(path);
      } else if (there === sha256 || there === sha256Of(await masked(content ?? ''))) this.unchanged++;
      else this.differing.push(path);
    }
  }
}

function sha256Of(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
