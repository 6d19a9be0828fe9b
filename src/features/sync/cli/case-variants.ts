import type { MemoryPath } from '../../../core/memory/path.ts';

/**
 * Finds paths in a memory that a case-insensitive file system regards as one path. A path that exists locally is kept,
 * or else the first path.
 *
 * @returns the other paths
 */
export function findCaseVariants(
  remote: Iterable<MemoryPath>,
  isLocal: (path: MemoryPath) => boolean,
): Set<MemoryPath> {
  const variants = new Set<MemoryPath>();
  for (const paths of Map.groupBy(remote, (path) => path.toLowerCase()).values()) {
    const kept = paths.find(isLocal) ?? paths[0];
    for (const path of paths) if (path !== kept) variants.add(path);
  }
  return variants;
}
