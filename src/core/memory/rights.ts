import { z } from 'zod';
import { type Mount, mountPath, shownPath } from './mount.ts';
import { ancestorPaths, isWithin, type MemoryPath, parsePath, ROOT } from './path.ts';

/** Access levels for a path, weakest first. */
const LEVELS = ['none', 'read_only', 'propose', 'read_write'] as const;

export type PathAccess = (typeof LEVELS)[number];

/** Access to a file, or to a directory with everything below it. */
export interface Right {
  path: MemoryPath;
  access: PathAccess;
}

/**
 * A caller's rights by path, at most `MAX_RIGHTS`, with different paths. The longest path at or above a file applies. A
 * right never exceeds the caller's own access, which applies to files without a right.
 */
export type Rights = readonly Right[];

const MAX_RIGHTS = 32;
/** Maximum length of an unnormalized path, in UTF-16 units. */
const MAX_PATH_CHARS = 5000;

/** A path in a memory, normalized. */
export const pathSchema = z
  .string()
  .max(MAX_PATH_CHARS)
  .transform((given, context): MemoryPath => {
    const parsed = parsePath(given);
    if (parsed.ok) return parsed.path;
    context.addIssue({ code: 'custom', message: 'must be a valid path in /memories.' });
    return z.NEVER;
  })
  // A transformed value has no type in an OpenAPI document.
  .pipe(z.string() as unknown as z.ZodType<MemoryPath, MemoryPath>)
  .meta({ examples: ['/memories/shared'] });

export const rightSchema = z
  .strictObject({ path: pathSchema, access: z.enum(LEVELS) })
  .meta({ id: 'Right', description: 'Access to a file, or to a directory with everything below it.' });

/** Rights as an operator or an issuer writes them. Sorted by path after parsing. */
export const rightsSchema = z
  .array(rightSchema)
  .max(MAX_RIGHTS)
  .refine((rights) => new Set(rights.map(({ path }) => path)).size === rights.length, {
    error: 'must have each path once.',
  })
  .transform((rights): Right[] => rights.toSorted((a, b) => (a.path < b.path ? -1 : 1)));

/** Returns the right that applies to a path; undefined if the caller's own access applies. */
export function rightAt(rights: Rights, path: string): Right | undefined {
  let longest: Right | undefined;
  for (const right of rights)
    if (isWithin(path, right.path) && right.path.length > (longest?.path.length ?? 0)) longest = right;
  return longest;
}

/** Returns a caller's access to a path, as far as its own access allows. */
export function accessTo(rights: Rights, path: string): PathAccess {
  return rightAt(rights, path)?.access ?? 'read_write';
}

export function isReadable(rights: Rights, path: string): boolean {
  return accessTo(rights, path) !== 'none';
}

/** Whether a caller may change a path, as far as its own access allows. */
export function canChange(rights: Rights, path: string): boolean {
  return isWritable(accessTo(rights, path));
}

const isWritable = (access: PathAccess) => access === 'propose' || access === 'read_write';

/** Returns the right that prevents a change to everything at or below a path; undefined if there is none. */
export function limitWithin(rights: Rights, path: MemoryPath): Right | undefined {
  const own = rightAt(rights, path);
  if (own !== undefined && !isWritable(own.access)) return own;
  return rightsBelow(rights, path).find(({ access }) => !isWritable(access));
}

const rightsBelow = (rights: Rights, path: string) =>
  rights.filter((right) => right.path !== path && isWithin(right.path, path));

type Extent = 'all' | 'some' | 'none';

/** Returns whether the caller may read all paths at or below a path, some of them, or none. */
export function shownWithin(rights: Rights, path: string): Extent {
  return extentWithin(rights, path, (access) => access !== 'none');
}

/** Returns whether the right to all paths at or below a path is `propose`, to some of them, or to none. */
export function proposedWithin(rights: Rights, path: string): Extent {
  return extentWithin(rights, path, isProposed);
}

const isProposed = (access: PathAccess) => access === 'propose';

function extentWithin(rights: Rights, path: string, has: (access: PathAccess) => boolean): Extent {
  const own = has(accessTo(rights, path));
  const isMixed = rightsBelow(rights, path).some(({ access }) => has(access) !== own);
  return isMixed ? 'some' : own ? 'all' : 'none';
}

/**
 * Divides rights between the caller's memory and its draft, which has the paths with the right `propose`. Each hides the
 * other's paths.
 */
export function divideRights(rights: Rights): { own: Rights; draft: Rights } {
  const withRoot = rightAt(rights, ROOT)
    ? rights
    : [{ path: ROOT, access: accessTo(rights, ROOT) }, ...rights];
  const hide = (isHidden: (access: PathAccess) => boolean) =>
    withRoot.map((right) => (isHidden(right.access) ? { ...right, access: 'none' as const } : right));
  return { own: hide(isProposed), draft: hide((access) => !isProposed(access)) };
}

/** Whether the rights hide any path. */
export function hidesPaths(rights: Rights | undefined): rights is Rights {
  return rights?.some(({ access }) => access === 'none') ?? false;
}

/** Rights as parameters for `isShownSql`. */
export type ShownParams = {
  /** Paths that a caller may read. */
  shown: string[];
  /** Paths that a caller must not read, except for `shown` below them. */
  hidden: string[];
  /** Directories that are shown if anything below them is. */
  mixed: string[];
};

export function shownParams(rights: Rights | undefined): ShownParams {
  if (!hidesPaths(rights)) return { shown: [], hidden: [], mixed: [] };
  const paths = (isShown: boolean) =>
    rights.filter(({ access }) => (access !== 'none') === isShown).map(({ path }) => path);
  const above = new Set(rights.flatMap(({ path }) => ancestorPaths(path)));
  const mixed = [...above].filter((path) => shownWithin(rights, path) === 'some');
  return { shown: paths(true), hidden: paths(false), mixed };
}

/**
 * Returns a caller's rights to the paths that it sees: its own rights, limited by the mounts' prefixes; undefined if
 * there is no limit.
 */
export function rightsWithMounts(
  rights: Rights | undefined,
  mounts: readonly Pick<Mount, 'name' | 'prefix'>[],
): Rights | undefined {
  const limits = mounts.flatMap((mount): Right[] =>
    mount.prefix === undefined
      ? []
      : [
          { path: mountPath(mount), access: 'none' },
          { path: shownPath(mount), access: 'read_write' },
        ],
  );
  return limits.length === 0 ? rights : weakerRights(rights ?? [], limits);
}

/** Returns rights that give each path the weaker of two accesses. */
function weakerRights(one: Rights, other: Rights): Rights {
  const paths = new Set([...one, ...other].map(({ path }) => path));
  const weaker = (path: string) =>
    Math.min(...[one, other].map((rights) => LEVELS.indexOf(accessTo(rights, path))));
  return [...paths].sort().map((path) => ({ path, access: LEVELS[weaker(path)] ?? 'none' }));
}

/** Returns a caller's rights in a mounted memory, for its paths; undefined if there is no limit. */
export function rightsInMount(
  rights: Rights | undefined,
  mount: Pick<Mount, 'name' | 'prefix'>,
): Rights | undefined {
  const mountedAt = mountPath(mount);
  const seen = rightsWithMounts(rights, [mount]);
  if (seen === undefined) return undefined;
  const below = rightsBelow(seen, mountedAt).map(({ path, access }) => ({
    path: (ROOT + path.slice(mountedAt.length)) as MemoryPath,
    access,
  }));
  const own = rightAt(seen, mountedAt);
  return own === undefined ? below : [{ path: ROOT, access: own.access }, ...below];
}

/**
 * Returns the mounts that a caller sees. A mount in which the caller may write nothing is read-only.
 *
 * @param proposes whether the caller proposes changes to a whole writable mount that has a path with the right `propose`
 */
export function mountsWithin(rights: Rights, mounts: readonly Mount[], proposes: boolean): Mount[] {
  return mounts.flatMap((mount) => {
    const inner = rightsInMount(rights, mount) ?? [];
    if (shownWithin(inner, ROOT) === 'none') return [];
    if (!canChangeAny(inner)) return { ...mount, access: 'read_only' as const };
    const isLimited =
      proposes && mount.access === 'read_write' && inner.some(({ access }) => isProposed(access));
    return isLimited ? { ...mount, access: 'propose' as const } : mount;
  });
}

/** Whether a caller may change any path, as far as its own access allows. */
export function canChangeAny(rights: Rights): boolean {
  return canChange(rights, ROOT) || rights.some(({ access }) => isWritable(access));
}

/** Maximum number of directories that a message names. */
const MAX_NAMED = 8;

/** Returns the topmost directories in which a caller may write, without the root, for a message. */
export function writableDirectories(rights: Rights): MemoryPath[] {
  const isTopmost = ({ path }: Right) => {
    const around = rightAt(
      rights.filter((right) => right.path !== path),
      path,
    );
    return around !== undefined && !isWritable(around.access);
  };
  return rights
    .filter((right) => right.path !== ROOT && isWritable(right.access) && isTopmost(right))
    .slice(0, MAX_NAMED)
    .map(({ path }) => path);
}
