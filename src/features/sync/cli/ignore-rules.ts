import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ignore from 'ignore';
import { type MemoryPath, ROOT } from '../../../core/memory/path.ts';

/** File with a directory's ignore rules, in gitignore syntax. */
export const IGNORE_FILE = '.memoryignore';

/**
 * Hidden files are ignored unless the directory's own rules include them, because an agent that writes the memory could
 * otherwise change a program's configuration on this device.
 */
const HIDDEN = ['.*'];
/** Rules that no other rule overrides. They are case-insensitive. */
const ALWAYS = ['.git', '.memory-service', IGNORE_FILE];

/** Whether a path is ignored on both sides. */
export type IsIgnored = (path: MemoryPath, kind: 'file' | 'directory') => boolean;

export async function readIgnoreRules(directory: string): Promise<IsIgnored> {
  const own = await readFile(join(directory, IGNORE_FILE), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const rules = ignore({ ignorecase: false }).add(HIDDEN).add(own);
  const always = ignore({ ignorecase: true }).add(ALWAYS);
  return (path, kind) => {
    const name = path.slice(ROOT.length + 1) + (kind === 'directory' ? '/' : '');
    return rules.ignores(name) || always.ignores(name);
  };
}
