import { tooManyBytes, tooManyFiles } from '../messages.ts';
import { failure, type MemoryResult } from '../result.ts';
import type { OverQuota } from '../store.ts';

/** What the model reads when its tenant has no room left. */
export function overQuota({ of, used, limit, needed }: OverQuota): MemoryResult {
  return failure(of === 'files' ? tooManyFiles(used, limit) : tooManyBytes(used, limit, needed));
}
