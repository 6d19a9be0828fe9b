/** A naive model for the history: every state of a memory, with its actor. */
import { ancestors, isBelow, ROOT, toCanonical } from './model-path.ts';
import type { Tree } from './model-types.ts';

/** A memory at one time, with the ID of the file at each path. */
export interface State {
  tree: Tree;
  ids: ReadonlyMap<string, string>;
}

export interface Change extends State {
  at: string;
  actor: string;
}

export interface File {
  path: string;
  content: string;
}

export interface Version {
  memoryId: string;
  at: string;
  actor: string;
  operation: 'created' | 'modified' | 'renamed' | 'deleted';
  path: string;
  /** The file's content, or null for a deletion. */
  content: string | null;
  supersededAt: string | null;
}

const inside = (path: string, top: string) => path === top || isBelow(path, top);
const isSame = (a: File | undefined, b: File | undefined) => a?.path === b?.path && a?.content === b?.content;

function findOperation(old: File | undefined, file: File | undefined): Version['operation'] {
  if (old === undefined) return 'created';
  if (file === undefined) return 'deleted';
  return old.content === file.content ? 'renamed' : 'modified';
}

/** Returns a state's files by their IDs. */
export function stateFiles({ tree, ids }: State): Map<string, File> {
  return new Map([...ids].map(([path, id]) => [id, { path, content: tree.get(path) ?? '' }]));
}

export function stateDirectories({ tree }: State): string[] {
  return [...tree].flatMap(([path, content]) => (content === null && path !== ROOT ? [path] : []));
}

/** Returns the IDs after a successful command. A new file has no ID yet. */
export function idsAfter(
  { ids }: State,
  tree: Tree,
  input: Record<string, unknown>,
): Map<string, string | undefined> {
  const moved = new Map(ids);
  if (input.command === 'rename') {
    const [from, to] = [toCanonical(String(input.old_path)), toCanonical(String(input.new_path))];
    for (const [path, id] of ids) {
      if (!inside(path, from)) continue;
      moved.delete(path);
      moved.set(to + path.slice(from.length), id);
    }
  }
  const files = [...tree].flatMap(([path, content]) => (content === null ? [] : [path]));
  return new Map(files.map((path) => [path, moved.get(path)]));
}

export class HistoryModel {
  readonly changes: Change[];
  /** Redacted versions by `versionKey`. */
  readonly redacted = new Set<string>();
  /** Paths in the redacted versions, which are secret too. */
  readonly redactedPaths = new Set<string>();

  constructor(createdAt: string) {
    this.changes = [{ at: createdAt, actor: '', tree: new Map([[ROOT, null]]), ids: new Map() }];
  }

  get now(): Change {
    return this.changes.at(-1) as Change;
  }

  changeAt(time: string): Change {
    return (this.changes.findLast(({ at }) => at <= time) ?? this.changes[0]) as Change;
  }

  versions(): Version[] {
    const versions: Version[] = [];
    const heads = new Map<string, Version>();
    for (const [i, change] of this.changes.entries()) {
      const [before, after] = [stateFiles(this.changes[i - 1] ?? change), stateFiles(change)];
      for (const memoryId of new Set([...before.keys(), ...after.keys()])) {
        const [old, file] = [before.get(memoryId), after.get(memoryId)];
        if (isSame(old, file)) continue;
        const replaced = heads.get(memoryId);
        if (replaced) replaced.supersededAt ??= change.at;
        const operation = findOperation(old, file);
        const version: Version = {
          memoryId,
          operation,
          at: change.at,
          actor: change.actor,
          path: (file ?? old)?.path ?? '',
          content: file?.content ?? null,
          supersededAt: file === undefined ? change.at : null,
        };
        versions.push(version);
        heads.set(memoryId, version);
      }
    }
    return versions;
  }

  /** Returns the IDs of files whose version at a time was redacted. */
  redactedIds(time: string): Set<string> {
    const current = this.versions().filter(
      ({ at, supersededAt }) => at <= time && (supersededAt === null || supersededAt > time),
    );
    return new Set(
      current.filter((each) => this.redacted.has(versionKey(each))).map(({ memoryId }) => memoryId),
    );
  }

  /** Returns the memory after a path is restored, or the reason why the restore fails. */
  restoredState(path: string, time: string): State | 'nothing' | 'redacted' | 'conflict' {
    const [now, past] = [this.now, this.changeAt(time)];
    const [filesNow, filesPast] = [stateFiles(now), stateFiles(past)];
    const isMeant = (id: string) =>
      [filesNow, filesPast].some((files) => inside(files.get(id)?.path ?? '', path));
    const meant = [...new Set([...filesNow.keys(), ...filesPast.keys()])].filter(isMeant);
    const directories = [now, past].map((state) =>
      stateDirectories(state).filter((each) => inside(each, path)),
    );
    if (path !== ROOT && meant.length + directories.flat().length === 0) return 'nothing';
    const redacted = this.redactedIds(time);
    if (meant.some((id) => redacted.has(id))) return 'redacted';

    const files = [...filesNow].filter(([id]) => !isMeant(id));
    for (const id of meant) {
      const file = filesPast.get(id);
      if (file !== undefined) files.push([id, file]);
    }
    const kept = stateDirectories(now).filter((each) => !inside(each, path));
    const wanted = new Set([...kept, ...(directories[1] ?? [])]);
    for (const each of [...wanted, ...files.map(([, file]) => file.path)]) {
      for (const above of ancestors(each)) wanted.add(above);
    }
    const paths = [...files.map(([, file]) => file.path), ...wanted];
    if (new Set(paths).size < paths.length) return 'conflict';
    return {
      tree: new Map<string, string | null>([
        [ROOT, null],
        ...[...wanted].map((each): [string, null] => [each, null]),
        ...files.map(([, file]): [string, string] => [file.path, file.content]),
      ]),
      ids: new Map(files.map(([id, file]) => [file.path, id])),
    };
  }

  /**
   * Returns, for each file that an actor has changed, its state before the actor's first change, and whether a revert
   * has to merge changes by others.
   */
  revertedState(by: string, since: string) {
    const files = new Map<string, Version[]>();
    for (const version of this.versions()) {
      files.set(version.memoryId, [...(files.get(version.memoryId) ?? []), version]);
    }
    const now = stateFiles(this.now);
    return [...files].flatMap(([memoryId, versions]) => {
      const isByActor = ({ actor, at }: Version) => actor === by && at >= since;
      const first = versions.findIndex(isByActor);
      if (first === -1) return [];
      const isMerged = versions.findLastIndex((each) => !isByActor(each)) > first;
      return [{ memoryId, isMerged, now: now.get(memoryId), past: stateAfter(versions[first - 1]) }];
    });
  }
}

export function versionKey(version: { memoryId: string; at: string } | undefined): string {
  return `${version?.memoryId} ${version?.at}`;
}

function stateAfter(version: Version | undefined): File | undefined {
  if (version === undefined || version.content === null) return undefined;
  return { path: version.path, content: version.content };
}
