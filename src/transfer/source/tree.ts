import { pathTooLong, pathWouldEscape } from '../../memory/messages.ts';
import { ancestorsOf, MAX_PATH_BYTES, type MemoryPath, parsePath, ROOT } from '../../memory/path.ts';
import { cannotImport, printable, type SourceEntry, spelledOut } from './entry.ts';

/** Where an import's entries go. */
export interface Placement {
  /** The directory that names are relative to; by default they have to start with `memories/`. */
  into?: MemoryPath | undefined;
  /** How many leading names of each path are dropped. */
  strip?: number | undefined;
}

interface Node {
  kind: 'file' | 'dir';
  modified: Date;
  /** Whether the source has it itself, and not only something below it. */
  given: boolean;
  /** The path before normalisation. */
  spelled: string;
}

/** The tree that an import makes: finds where each entry goes, and refuses those that contradict each other. */
export class ImportTree {
  readonly #placement: Placement;
  readonly #now: Date;
  readonly #nodes = new Map<MemoryPath, Node>();

  constructor(placement: Placement, now: Date) {
    this.#placement = placement;
    this.#now = now;
    this.#nodes.set(ROOT, { kind: 'dir', modified: now, given: false, spelled: ROOT });
  }

  /** All paths, with the directories above each. */
  get entries(): ReadonlyMap<MemoryPath, Node> {
    return this.#nodes;
  }

  /**
   * @returns where the entry goes, or undefined for a directory that is only the way to the others.
   * @throws OperatorError when it cannot go anywhere.
   */
  add({ name, kind, modified }: Pick<SourceEntry, 'name' | 'kind' | 'modified'>): MemoryPath | undefined {
    const spelled = this.#place(name, kind);
    if (spelled === undefined) return undefined;
    const parsed = parsePath(spelled);
    if (!parsed.ok) throw cannotImport(name, printable(withoutPrefix(parsed.refusal)));
    const { path } = parsed;

    const known = this.#nodes.get(path);
    if (known !== undefined) {
      if (known.spelled !== spelled) throw sameName(spelled, known.spelled);
      if (known.kind !== kind) throw cannotImport(name, `${path} would be both a file and a directory.`);
      if (known.given) throw cannotImport(name, `${path} is in the archive twice.`);
    }
    this.#addDirectoriesAbove(path, spelled, name);
    this.#nodes.set(path, { kind, modified, given: true, spelled });
    return path;
  }

  /** The path an entry goes to, not yet normalised or judged. */
  #place(name: string, kind: 'file' | 'dir'): string | undefined {
    const { into, strip = 0 } = this.#placement;
    // Whatever is longer is refused anyway; the limit keeps the work on hostile names small.
    const bytes = Buffer.byteLength(name);
    if (bytes > 8 * MAX_PATH_BYTES) {
      throw cannotImport(name, withoutPrefix(pathTooLong(`${bytes} bytes`, MAX_PATH_BYTES)));
    }
    const names = name.split('/').filter((each) => each !== '' && each !== '.');
    if (names.includes('..')) {
      throw cannotImport(name, printable(withoutPrefix(pathWouldEscape(name))));
    }
    const kept = names.slice(strip);
    if (kept.length === 0) {
      if (kind === 'dir') return undefined;
      throw cannotImport(
        name,
        strip > 0 ? `--strip ${strip} leaves nothing of its path.` : 'it has no name.',
      );
    }
    if (into !== undefined) {
      if (!name.startsWith('/')) return `${into}/${kept.join('/')}`;
      throw cannotImport(name, 'its path is absolute; with --into, paths have to be relative.');
    }
    if (!name.startsWith('/') && kept[0] !== 'memories') {
      throw cannotImport(
        name,
        'it is not below memories/. Say where the entries go with --into, for example --into /memories.',
      );
    }
    return `/${kept.join('/')}`;
  }

  #addDirectoriesAbove(path: MemoryPath, spelled: string, name: string): void {
    let above = spelled;
    for (const directory of ancestorsOf(path).reverse()) {
      above = above.slice(0, above.lastIndexOf('/'));
      const known = this.#nodes.get(directory);
      if (known === undefined) {
        this.#nodes.set(directory, { kind: 'dir', modified: this.#now, given: false, spelled: above });
        continue;
      }
      if (known.spelled !== above) throw sameName(above, known.spelled);
      if (known.kind === 'file') {
        throw cannotImport(name, `${directory} would be both a file and a directory.`);
      }
      // Those above were looked at when this one was added.
      return;
    }
  }
}

function sameName(spelled: string, other: string) {
  return cannotImport(
    spelled,
    `its path and that of another entry are the same once normalised to Unicode NFC, as paths are kept: ${spelledOut(spelled)} and ${spelledOut(other)}. Rename one of them.`,
  );
}

function withoutPrefix(message: string): string {
  return message.replace(/^Error: /, '');
}
