import { ASSUME_INTERRUPTION } from '../../core/memory/protocol.ts';
import { isReader, type Principal } from '../../core/tenants/principal.ts';

const READ = `MEMORY PROTOCOL:
- The <memory_snapshot> block shows your memory, /memories, as it was when the block was made: the content of pinned files, and a list of the others. It replaces the first \`view\` of your memory directory.
- A later <memory_changes> block lists later changes.
- Before you rely on a listed file, \`view\` it with your \`memory\` tool. \`memory_search\` finds files by words.`;

const WRITE = `- As you make progress, record status, progress, and thoughts in your memory.
${ASSUME_INTERRUPTION}`;

const READ_ONLY = '- Your memory is read-only: do not try to change it.';

/**
 * Returns the text for the system prompt: how to use the memory with its snapshot, the rights, and the mounts.
 *
 * @param places description of the rights by path and of the mounts, which may be empty
 */
export function guidanceText(
  principal: Pick<Principal, 'access' | 'rights' | 'proposesAs'>,
  places: string,
): string {
  const protocol = `${READ}\n${isReader(principal) ? READ_ONLY : WRITE}`;
  return places === '' ? protocol : `${protocol}\n\n${places}`;
}
