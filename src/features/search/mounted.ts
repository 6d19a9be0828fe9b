import { hasReason } from '../../core/errors/errors.ts';
import { innerPath, outerPath } from '../../core/files/memory.ts';
import { locateFile } from '../../core/files/mounts/located-file.ts';
import { catchUnreachable, mountedPolicy, proposalPolicy } from '../../core/files/mounts/mounted-policy.ts';
import type { Services } from '../../core/files/services.ts';
import { type Call, callOrigin } from '../../core/files/tool-call.ts';
import { compareCodePoints } from '../../core/lib/text-forms.ts';
import { mountUnavailable, mountUnavailableNote } from '../../core/memory/messages.ts';
import { type Mount, mountAt, mountPath } from '../../core/memory/mount.ts';
import { isWithin, type MemoryPath, parsePath, ROOT } from '../../core/memory/path.ts';
import { failure } from '../../core/memory/result.ts';
import {
  divideRights,
  hidesPaths,
  isReadable,
  type Rights,
  rightsInMount,
  shownWithin,
} from '../../core/memory/rights.ts';
import { countedAs, type TenantPolicy } from '../../core/tenants/policy-cache.ts';
import { requireSameTenant } from '../../core/tenants/tenants.ts';
import { type FileSource, filesNow } from './file-source.ts';
import { type MemorySearch, memorySearch } from './search.ts';
import type { SearchedFile } from './search-query.ts';
import { runSearch, type Search, type SearchResult } from './search-tool.ts';

/** Returns the files that a caller may read in a mounted memory, with the paths that it sees. */
function mountedFiles(all: FileSource, mount: Mount, rights: Rights | undefined): FileSource {
  const { prefix = ROOT } = mount;
  const mountedAt = mountPath(mount);
  const files = readableFiles(all, rightsInMount(rights, mount));
  const withOuterPath = (file: SearchedFile) => ({ ...file, path: outerPath(file.path, mountedAt) });
  return {
    page: async (path, after) => {
      const innerAfter = after === '' ? '' : innerPath(after as MemoryPath, mountedAt);
      const inner = innerPath(path, mountedAt);
      const page = await files.page(isWithin(prefix, inner) ? prefix : inner, innerAfter);
      return page.map(withOuterPath);
    },
    read: async (paths) => {
      const inner = await files.read(paths.map((path) => innerPath(path, mountedAt)));
      return inner.map(withOuterPath);
    },
    has: (path) => files.has(innerPath(path, mountedAt)),
  };
}

/** Returns the files that a caller may read. */
function readableFiles(files: FileSource, rights: Rights | undefined): FileSource {
  if (!hidesPaths(rights)) return files;
  const onlyReadable = (page: readonly SearchedFile[]) => page.filter(({ path }) => isReadable(rights, path));
  return {
    page: async (path, after) => {
      if (shownWithin(rights, path) === 'none') return [];
      for (let last = after; ; ) {
        const page = await files.page(path, last);
        const seen = onlyReadable(page);
        if (seen.length > 0 || page.length === 0) return seen;
        last = page.at(-1)?.path ?? last;
      }
    },
    read: async (paths) => onlyReadable(await files.read(paths)),
    has: (path) => files.has(path, rights),
  };
}

/** Returns the files in two memories that have different files, sorted by path. */
function mergeFiles(one: FileSource, other: FileSource): FileSource {
  const sources = [one, other];
  return {
    page: async (path, after) => {
      const pages = await Promise.all(sources.map((files) => files.page(path, after)));
      const [end = ''] = pages.flatMap((page) => page.at(-1)?.path ?? []).sort(compareCodePoints);
      const isComplete = ({ path }: SearchedFile) => compareCodePoints(path, end) <= 0;
      return pages
        .flat()
        .filter(isComplete)
        .sort((a, b) => compareCodePoints(a.path, b.path));
    },
    read: async (paths) => (await Promise.all(sources.map((files) => files.read(paths)))).flat(),
    has: async (path) => (await one.has(path)) || other.has(path),
  };
}

/** A mount that can be read. */
export interface MountedFiles {
  directory: MemoryPath;
  files: FileSource;
}

/**
 * Returns all files that the caller sees, sorted by path: the caller's files that no mount hides, and the files in the
 * mounts.
 *
 * @param mounts all mounts
 * @param available the mounts that can be read
 */
export function filesWithMounts(
  own: FileSource,
  mounts: readonly Mount[],
  available: readonly MountedFiles[],
): FileSource {
  const parts = available
    .map(({ directory, files }) => ({
      directory,
      files,
      start: `${directory}/`,
      end: `${directory}/\u{10FFFF}`,
    }))
    .sort((one, other) => compareCodePoints(one.start, other.start));

  /** Returns the caller's files between two paths. */
  const ownPage = async (after: string, until: string | undefined): Promise<SearchedFile[]> => {
    for (let last = after; ; ) {
      const page = await own.page(ROOT, last);
      const before =
        until === undefined ? page : page.filter(({ path }) => compareCodePoints(path, until) < 0);
      const seen = before.filter(({ path }) => mountAt(path as MemoryPath, mounts) === undefined);
      if (seen.length > 0 || before.length === 0 || before.length < page.length) return seen;
      last = page.at(-1)?.path ?? last;
    }
  };

  const page = async (_: MemoryPath, after: string): Promise<SearchedFile[]> => {
    for (let last = after; ; ) {
      const part = parts.find(({ start, end }) => last.startsWith(start) && last !== end);
      if (part !== undefined) {
        const found = await part.files.page(part.directory, last === part.start ? '' : last);
        if (found.length > 0) return found;
        last = part.end;
      }
      const next = parts.find(({ start }) => compareCodePoints(last, start) < 0);
      const found = await ownPage(last, next?.start);
      if (found.length > 0 || next === undefined) return found;
      last = next.start;
    }
  };

  const read = async (paths: readonly MemoryPath[]): Promise<SearchedFile[]> => {
    const found = [];
    for (const { start, files } of parts)
      found.push(
        ...(await readSome(
          files,
          paths.filter((path) => path.startsWith(start)),
        )),
      );
    const isOwn = (path: MemoryPath) => parts.every(({ start }) => !path.startsWith(start));
    found.push(...(await readSome(own, paths.filter(isOwn))));
    return found;
  };
  return { page, read, has: async (path) => path === ROOT || own.has(path) };
}

async function readSome(files: FileSource, paths: readonly MemoryPath[]): Promise<SearchedFile[]> {
  return paths.length === 0 ? [] : files.read(paths);
}

interface SearchServices extends Pick<Services, 'policies' | 'database'> {
  search: MemorySearch;
}

interface SearchCall
  extends Pick<Call, 'principal' | 'policy' | 'ip' | 'requestId' | 'toolUseId' | 'wantsProvenance'> {
  /** Aborted when the client disconnects. */
  gone?: AbortSignal | undefined;
}

/** Runs one `memory_search` call, with valid or invalid input, on the caller's memory and its mounts. */
export async function searchCall(input: unknown, call: SearchCall, all: Services): Promise<SearchResult> {
  const services = {
    policies: all.policies,
    database: all.database,
    search: all.featureService(memorySearch),
  };
  const { principal, policy, gone } = call;
  const { tenant, proposal } = principal;
  const draft = proposal && (await proposalPolicy(proposal, all.policies, call.ip));
  const own: Search = {
    countedAs: countedAs(tenant, policy),
    files: ownFiles(principal, services),
    input,
    maxChars: policy.limits.maxViewChars,
    gone,
  };
  const path = policy.mounts.length === 0 ? undefined : inputPath(input);
  const mount = path === undefined ? undefined : mountAt(path, policy.mounts);
  const result = await (path === ROOT
    ? searchAll(own, call, services)
    : mount === undefined
      ? runSearch(services.search, own)
      : searchMount(mount, own, call, services));
  await requireSameTenant(services.database, tenant, policy.createdAt);
  if (proposal && draft) await requireSameTenant(services.database, proposal.tenant, draft.createdAt);
  noteShown(result, call, all);
  return call.wantsProvenance ? addProvenance(result, call, all) : result;
}

/** Returns the files that the caller may read in its memory, and in its draft for the paths that the draft shows. */
function ownFiles(
  { tenant, rights, proposal }: SearchCall['principal'],
  { database, search }: SearchServices,
): FileSource {
  const files = filesNow(database, tenant, search.texts);
  if (rights === undefined || proposal === undefined) return readableFiles(files, rights);
  const { own, draft } = divideRights(rights);
  const proposed = readableFiles(filesNow(database, proposal.tenant, search.texts), draft);
  return mergeFiles(readableFiles(files, own), proposed);
}

/** Records a read for each file whose lines the result shows. */
function noteShown(
  { matches }: SearchResult,
  call: SearchCall,
  { accessTimes, readTrail }: Pick<Services, 'accessTimes' | 'readTrail'>,
): void {
  const origin = callOrigin(call);
  const shown = new Set(matches.flatMap(({ path, line }) => (line === null ? [] : [path as MemoryPath])));
  for (const seen of shown) {
    const { tenant, path, viaTenant } = locateFile(seen, call);
    accessTimes.note(tenant, path);
    readTrail?.note(tenant, path, { ...origin, viaTenant });
  }
}

/** Appends the last change to each line that the result shows. */
async function addProvenance(
  result: SearchResult,
  call: SearchCall,
  { provenance }: Pick<Services, 'provenance'>,
): Promise<SearchResult> {
  const shown = result.matches.flatMap(({ path, line, text }) =>
    line === null || text === null ? [] : [{ path, line, text }],
  );
  if (provenance === undefined || shown.length === 0) return result;
  const block = await provenance.describeMatches(shown, call);
  return { ...result, content: `${result.content}\n${block}` };
}

async function searchMount(
  mount: Mount,
  own: Search,
  { principal: { rights }, ip }: SearchCall,
  services: SearchServices,
): Promise<SearchResult> {
  const { search, database, policies } = services;
  const mountedAt = mountPath(mount);
  const policy = await mountedPolicy(mount, policies, ip);
  if (typeof policy === 'string')
    return { ...failure(mountUnavailable(mountedAt, policy)), matches: [], more: 0 };
  const files = mountedFiles(filesNow(database, mount.tenant, search.texts), mount, rights);
  const result = await runSearch(search, { ...own, files });
  await requireSameMount(mount, policy, services);
  return result;
}

/** @throws ServiceError when the mounted tenant was deleted while its settings were cached */
async function requireSameMount(
  { tenant }: Mount,
  { createdAt }: TenantPolicy,
  { database, policies }: Pick<SearchServices, 'database' | 'policies'>,
): Promise<void> {
  try {
    await requireSameTenant(database, tenant, createdAt);
  } catch (error) {
    policies.forget(tenant);
    throw error;
  }
}

/** Searches the caller's memory and all mounts. The result names unavailable mounts, which are skipped. */
async function searchAll(own: Search, call: SearchCall, services: SearchServices): Promise<SearchResult> {
  const unreachable = new Set<Mount>();
  for (;;) {
    const known = unreachable.size;
    try {
      return await searchWithout(unreachable, own, call, services);
    } catch (error) {
      // If a mount turned out to be unreachable, search again without it.
      if (unreachable.size === known) throw error;
    }
  }
}

/** @param unreachable mounts to skip; mounts that the database cannot reach are added before the error is thrown */
async function searchWithout(
  unreachable: Set<Mount>,
  own: Search,
  { principal: { rights }, policy: { mounts }, ip }: SearchCall,
  { search, database, policies }: SearchServices,
): Promise<SearchResult> {
  const available: MountedFiles[] = [];
  const notes: string[] = [];
  const mountedPolicies = await Promise.all(
    mounts.map((mount) =>
      unreachable.has(mount)
        ? ('unreachable' as const)
        : catchUnreachable(() => mountedPolicy(mount, policies, ip)),
    ),
  );
  for (const [i, mount] of mounts.entries()) {
    const directory = mountPath(mount);
    const policy = mountedPolicies[i];
    if (typeof policy === 'string') notes.push(mountUnavailableNote(directory, policy));
    else {
      const files = mountedFiles(filesNow(database, mount.tenant, search.texts), mount, rights);
      available.push({ directory, files: watchReads(files, () => unreachable.add(mount)) });
    }
  }
  const length = notes.reduce((sum, note) => sum + note.length + 1, 0);
  const result = await runSearch(search, {
    ...own,
    files: filesWithMounts(own.files, mounts, available),
    maxChars: own.maxChars === 0 ? 0 : Math.max(1, own.maxChars - length),
  });
  for (const [i, mount] of mounts.entries()) {
    const policy = mountedPolicies[i];
    if (policy !== undefined && typeof policy !== 'string')
      await requireSameMount(mount, policy, { database, policies });
  }
  return result.isError ? result : { ...result, content: [result.content, ...notes].join('\n') };
}

/** Returns the same files, but calls `onUnreachable` before throwing the error for an unreachable database. */
function watchReads(files: FileSource, onUnreachable: () => void): FileSource {
  const watch = async (found: Promise<SearchedFile[]>) => {
    try {
      return await found;
    } catch (error) {
      if (hasReason(error, 'database_unavailable')) onUnreachable();
      throw error;
    }
  };
  return {
    page: (path, after) => watch(files.page(path, after)),
    read: (paths) => watch(files.read(paths)),
    has: files.has,
  };
}

/** Returns the path that an input searches; undefined for invalid input. */
function inputPath(input: unknown): MemoryPath | undefined {
  const { path } = (typeof input === 'object' && input !== null ? input : {}) as { path?: unknown };
  if (path === undefined || path === null) return ROOT;
  const parsed = typeof path === 'string' ? parsePath(path) : undefined;
  return parsed?.ok ? parsed.path : undefined;
}
