import { fileTooLarge } from '../messages.ts';
import type { MemoryPath } from '../path.ts';
import { failure, success } from '../result.ts';
import type { Edit } from '../store.ts';
import type { MemoryLimits } from './command.ts';

/**
 * The edit that replaces `before` by `after` and answers `message`, or refuses when the file would become too
 * large. A file that is over a limit lowered since may still shrink.
 */
export function editWithinLimits(
  path: MemoryPath,
  before: string,
  after: string,
  message: string,
  { maxFileBytes }: MemoryLimits,
): Edit {
  const bytes = Buffer.byteLength(after);
  if (maxFileBytes > 0 && bytes > maxFileBytes && bytes > Buffer.byteLength(before)) {
    return { result: failure(fileTooLarge(path, maxFileBytes)) };
  }
  return { content: after, result: success(message) };
}
