import { pathProblemText } from '../../core/memory/messages.ts';
import {
  ancestorPaths,
  MAX_PATH_BYTES,
  type MemoryPath,
  type PathProblem,
  parsePath,
  ROOT,
} from '../../core/memory/path.ts';
import { cannotImport, escapeInvisible, escapeNonAscii, type SourceEntry } from './entry.ts';

export interface Placement {
  /** Directory that names are relative to. By default, names must start with `memories/`. */
  into?: MemoryPath | undefined;
  /** Number of leading segments to remove from each name. */
  strip?: number | undefined;
}

interface Node {
  kind: 'file' | 'dir';
  modified: Date;
  /** Whether the source contains the entry itself, or only an entry below it. */
  given: boolean;
  /** The path before normalization. */
  spelled: string;
}

/** The tree that an import creates. Computes each entry's destination, and rejects conflicting entries. */
export class ImportTree {
  readonly #placement: Placement;
  readonly #now: Date;
  readonly #nodes = new Map<MemoryPath, Node>();

  constructor(placement: Placement, now: Date) {
    this.#placement = placement;
    this.#now = now;
    this.#nodes.set(ROOT, { kind: 'dir', modified: now, given: false, spelled: ROOT });
  }

  /** All paths, including ancestor directories. */
  get entries(): ReadonlyMap<MemoryPath, Node> {
    return this.#nodes;
  }

  /**
   * @returns the entry's path, or undefined for a directory that `strip` removes
   * @throws ServiceError if the entry cannot be imported
   */
  add({ name, kind, modified }: Pick<SourceEntry, 'name' | 'kind' | 'modified'>): MemoryPath | undefined {
    const spelled = this.#place(name, kind);
    if (spelled === undefined) return undefined;
    const parsed = parsePath(spelled);
    if (!parsed.ok) throw invalidPath(name, parsed.problem);
    const { path } = parsed;

    const known = this.#nodes.get(path);
    if (known !== undefined) {
      if (known.spelled !== spelled) throw sameName(spelled, known.spelled);
      if (known.kind !== kind) throw cannotImport(name, 'entry_file_and_directory', path);
      if (known.given) throw cannotImport(name, 'entry_twice', path);
    }
    this.#addDirectoriesAbove(path, spelled, name);
    this.#nodes.set(path, { kind, modified, given: true, spelled });
    return path;
  }

  /** Returns an entry's destination, not yet normalized or validated. */
  #place(name: string, kind: 'file' | 'dir'): string | undefined {
    const { into, strip = 0 } = this.#placement;
    // The validation would reject longer names too. The early limit bounds the work on hostile names.
    const bytes = Buffer.byteLength(name);
    if (bytes > 8 * MAX_PATH_BYTES) {
      throw invalidPath(name, { kind: 'too_long', of: 'path', length: bytes, limit: MAX_PATH_BYTES });
    }
    const names = name.split('/').filter((each) => each !== '' && each !== '.');
    if (names.includes('..')) throw invalidPath(name, { kind: 'escape', given: name });
    const kept = names.slice(strip);
    if (kept.length === 0) {
      if (kind === 'dir') return undefined;
      throw strip > 0
        ? cannotImport(name, 'entry_stripped_away', strip)
        : cannotImport(name, 'entry_without_name');
    }
    if (into !== undefined) {
      if (!name.startsWith('/')) return `${into}/${kept.join('/')}`;
      throw cannotImport(name, 'entry_path_absolute');
    }
    if (!name.startsWith('/') && kept[0] !== 'memories') throw cannotImport(name, 'entry_outside_memories');
    return `/${kept.join('/')}`;
  }

  #addDirectoriesAbove(path: MemoryPath, spelled: string, name: string): void {
    let above = spelled;
    for (const directory of ancestorPaths(path).reverse()) {
      above = above.slice(0, above.lastIndexOf('/'));
      const known = this.#nodes.get(directory);
      if (known === undefined) {
        this.#nodes.set(directory, { kind: 'dir', modified: this.#now, given: false, spelled: above });
        continue;
      }
      if (known.spelled !== above) throw sameName(above, known.spelled);
      if (known.kind === 'file') throw cannotImport(name, 'entry_file_and_directory', directory);
      // A known directory's ancestors have already been checked.
      return;
    }
  }
}

function sameName(spelled: string, other: string) {
  return cannotImport(spelled, 'entry_same_name', escapeNonAscii(spelled), escapeNonAscii(other));
}

function invalidPath(name: string, problem: PathProblem) {
  return cannotImport(name, 'entry_path_invalid', escapeInvisible(pathProblemText(problem)));
}
