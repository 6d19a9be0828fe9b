import { tooManyBytes, tooManyDirectories, tooManyFiles } from '../messages.ts';
import { failure, type MemoryResult } from '../result.ts';
import type { OverQuota } from '../store.ts';

/** The error that the model reads when its tenant is over quota. */
export function overQuota({ of, used, limit, needed }: OverQuota): MemoryResult {
  switch (of) {
    case 'files':
      return failure(tooManyFiles(used, limit));
    case 'directories':
      return failure(tooManyDirectories(used, limit));
    case 'bytes':
      return failure(tooManyBytes(used, limit, needed));
  }
}
