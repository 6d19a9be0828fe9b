import { ApiError, isAborted } from '../../api/api-client.ts';
import { listDirectory, type PageStart, readSizes } from '../../api/memory-api.ts';
import {
  directoriesAbove,
  directoryAbove,
  findEntry,
  type Part,
  ROOT,
  type Size,
  type Tree,
  withPage,
} from './tree.ts';

/** Maximum number of directories that a small memory opens at first. */
const OPEN_AT_FIRST = 30;

export interface LoadedTree {
  /** Undefined before the first response. */
  tree: Tree | undefined;
  error: unknown;
  isLoading: boolean;
  /** Totals for the whole memory at a past time, once counted. */
  total: (Size & { redacted: number }) | undefined;
}

interface Request {
  /** A time, or null for now. */
  at: string | null;
  /** Whether directories that the user has not closed should open. */
  isSmall: boolean;
  /** Path whose parent directories are opened. */
  reveal: string | null;
}

const START: LoadedTree = { tree: undefined, error: undefined, isLoading: true, total: undefined };

/** Loads a memory's open directories at a time, and later at other times. */
export class TreeLoader {
  state = START;
  /** Called with the new state after each change. */
  onChange: (state: LoadedTree) => void = () => {};
  readonly #tenant: string;
  /** Directories that were opened or closed, by the user or by the loader. */
  readonly #isOpen = new Map<string, boolean>([[ROOT, true]]);
  #request: Request = { at: null, isSmall: false, reveal: null };
  /** Whether a new tree is loading and will replace the current one. */
  #isReplacing = false;
  #left = 0;
  #revealed: string | null = null;
  #controller = new AbortController();

  constructor(tenant: string) {
    this.#tenant = tenant;
  }

  isOpen = (path: string) => this.#isOpen.get(path) ?? false;

  /**
   * Loads the open directories at a time. The previous tree remains visible until all directories are loaded, so that
   * no row moves under the pointer.
   */
  async load(request: Request): Promise<void> {
    const { isSmall, reveal } = request;
    this.#controller.abort();
    this.#controller = new AbortController();
    const { signal } = this.#controller;
    const shown = request.at === this.#request.at ? this.state.tree : undefined;
    this.#request = request;
    this.#isReplacing = true;
    this.#left = isSmall ? OPEN_AT_FIRST : 0;
    // The sizes are shown until they are counted again.
    const tree: Tree = { directories: new Map(), sizes: new Map(shown?.sizes) };
    if (shown === undefined) this.#set({ isLoading: true });
    this.#revealed = reveal;
    if (reveal !== null) this.#openAbove(reveal);
    try {
      await this.#loadShown(tree, signal, shown);
      this.#isReplacing = false;
      this.#set({ tree, error: undefined, total: undefined });
      if (reveal !== null) await this.#loadAround(tree, reveal, signal);
      this.#set({ isLoading: false });
      await this.#countAll(tree, signal);
    } catch (error) {
      if (!isAborted(error)) this.#set({ tree: undefined, error, isLoading: false });
    }
  }

  reload(): void {
    void this.load(this.#request);
  }

  stop(): void {
    this.#controller.abort();
  }

  toggle(path: string): void {
    const isOpen = !this.isOpen(path);
    this.#isOpen.set(path, isOpen);
    this.#set({});
    if (this.#isReplacing) this.reload();
    else if (isOpen) this.#run((tree, signal) => this.#loadAndCount(tree, signal));
  }

  /** Selects a path that may not be loaded yet, and opens the directories above it. */
  reveal(path: string): void {
    if (path === this.#revealed) return;
    this.#revealed = path;
    this.#openAbove(path);
    this.#set({});
    this.#run(async (tree, signal) => {
      await this.#loadAndCount(tree, signal);
      await this.#loadAround(tree, path, signal);
    });
  }

  /** Loads the page that follows a part of a directory. */
  loadMore(directory: string, part: number): void {
    this.#run(async (tree, signal) => {
      const next = tree.directories.get(directory)?.[part]?.next;
      if (!next) return;
      const page = await listDirectory(this.#tenant, directory, this.#request.at, { after: next }, signal);
      const parts = tree.directories.get(directory) ?? [];
      // A concurrent request may already have added this page.
      if (parts[part]?.next === next) tree.directories.set(directory, withPage(parts, part, page));
      this.#set({});
    });
  }

  #run(work: (tree: Tree, signal: AbortSignal) => Promise<void>): void {
    const { tree } = this.state;
    if (tree === undefined) return;
    const { signal } = this.#controller;
    this.#set({ isLoading: true });
    work(tree, signal).then(
      () => this.#set({ isLoading: false }),
      (error: unknown) => {
        if (!isAborted(error)) this.#set({ error, isLoading: false });
      },
    );
  }

  #set(changes: Partial<LoadedTree>): void {
    this.state = { ...this.state, ...changes };
    this.onChange(this.state);
  }

  #openAbove(path: string): void {
    for (const directory of directoriesAbove(path)) this.#isOpen.set(directory, true);
  }

  async #loadAndCount(tree: Tree, signal: AbortSignal): Promise<void> {
    const before = new Set(tree.directories.keys());
    await this.#loadShown(tree, signal);
    this.#set({});
    for (const directory of tree.directories.keys()) {
      if (!before.has(directory)) await this.#count(tree, directory, signal);
    }
  }

  /** Loads all directories that are visible and not loaded. */
  async #loadShown(tree: Tree, signal: AbortSignal, before?: Tree): Promise<void> {
    const shown = [...this.#isOpen.keys()].filter(
      (path) => [...directoriesAbove(path), path].every(this.isOpen) && !tree.directories.has(path),
    );
    await Promise.all(
      shown.map((path) => {
        const length = before?.directories.get(path)?.[0]?.entries.length ?? 0;
        return this.#loadDirectory(tree, path, signal, length);
      }),
    );
  }

  /** Loads a directory's first pages, at least `length` entries. In a small memory, also loads the subdirectories. */
  async #loadDirectory(tree: Tree, directory: string, signal: AbortSignal, length = 0): Promise<void> {
    const page = await this.#firstPage(directory, signal);
    if (page === undefined) return;
    while (page.next !== null && page.entries.length < length) {
      const more = await listDirectory(
        this.#tenant,
        directory,
        this.#request.at,
        { after: page.next },
        signal,
      );
      page.entries.push(...more.entries);
      page.next = more.next;
    }
    tree.directories.set(directory, [page]);
    const opened: string[] = [];
    for (const { kind, path } of page.entries) {
      if (kind !== 'directory' || this.#left === 0 || this.#isOpen.has(path)) continue;
      this.#isOpen.set(path, true);
      this.#left--;
      opened.push(path);
    }
    await Promise.all(opened.map((path) => this.#loadDirectory(tree, path, signal)));
  }

  /** Returns undefined if the directory does not exist at the time. */
  async #firstPage(directory: string, signal: AbortSignal): Promise<Part | undefined> {
    try {
      return await listDirectory(this.#tenant, directory, this.#request.at, {}, signal);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404 && directory !== ROOT) return undefined;
      throw error;
    }
  }

  /** Loads the entries for a path and for the directories above it, unless the loaded parts contain them. */
  async #loadAround(tree: Tree, path: string, signal: AbortSignal): Promise<void> {
    const above = directoriesAbove(path).filter((directory) => directory !== ROOT);
    await Promise.all([
      ...above.map((from_directory) => this.#loadPart(tree, from_directory, { from_directory }, signal)),
      this.#loadPart(tree, path, { from: path }, signal).then(
        (isThere) => isThere || this.#loadPart(tree, path, { from_directory: path }, signal),
      ),
    ]);
    this.#set({});
  }

  /**
   * Loads the part of a directory that begins at `path`, unless the part is loaded. Returns false if the directory has
   * no such entry.
   */
  async #loadPart(tree: Tree, path: string, start: PageStart, signal: AbortSignal): Promise<boolean> {
    const directory = directoryAbove(path);
    const parts = tree.directories.get(directory);
    if (parts === undefined || parts.at(-1)?.next === null || findEntry(tree, path) !== undefined)
      return true;
    const part = await listDirectory(this.#tenant, directory, this.#request.at, start, signal);
    const [first] = parts;
    if (first === undefined || part.entries[0]?.path !== path) return false;
    // A second part is enough, and replacing it keeps the parts in order.
    tree.directories.set(directory, [first, part]);
    return true;
  }

  async #countAll(tree: Tree, signal: AbortSignal): Promise<void> {
    for (const directory of tree.directories.keys()) await this.#count(tree, directory, signal);
  }

  /** Counts the files below each directory in `directory`. */
  async #count(tree: Tree, directory: string, signal: AbortSignal): Promise<void> {
    const hasDirectories = tree.directories.get(directory)?.[0]?.entries[0]?.kind === 'directory';
    const isPastOfAll = directory === ROOT && this.#request.at !== null;
    if (!hasDirectories && !isPastOfAll) return;
    const sizes = new Map<string, Size>();
    const total = { files: 0, bytes: 0, redacted: 0 };
    for (let after: string | null = null, isDone = false; !isDone; isDone = after === null) {
      const part = await readSizes(this.#tenant, directory, this.#request.at, after, signal);
      for (const { path, files, size_bytes } of part.directories) {
        const before = sizes.get(path) ?? { files: 0, bytes: 0 };
        sizes.set(path, { files: before.files + files, bytes: before.bytes + size_bytes });
      }
      total.files += part.files;
      total.bytes += part.size_bytes;
      total.redacted += part.redacted ?? 0;
      after = part.next;
    }
    for (const [path, size] of sizes) tree.sizes.set(path, size);
    this.#set(isPastOfAll ? { total } : {});
  }
}
