import { createHash } from 'node:crypto';
import { platform, setPriority } from 'node:os';
import { isMainThread } from 'node:worker_threads';
import type { MemoryPath } from '../../core/memory/path.ts';
import { createSecretScanner } from '../secrets/scanner.ts';
import { findLinks } from './links.ts';
import { sketchText } from './similarity.ts';

export interface ExaminedFile {
  /** Undefined for an empty file. */
  sha256: string | undefined;
  /** UTF-16 units. */
  chars: number;
  sketch: Uint32Array;
  /** Linked paths. */
  links: MemoryPath[];
  /** The detected secrets' kinds. */
  secrets: string[];
}

/** The thread's niceness. The event loop and its requests run first. */
const NICENESS = 10;
// On Linux, each thread has its own niceness.
if (!isMainThread && platform() === 'linux') setPriority(NICENESS);

const scanner = createSecretScanner();

/** Examines a page of files. Runs in a thread. */
export default async function examine(
  files: readonly { path: string; content: string }[],
): Promise<ExaminedFile[]> {
  const examined: ExaminedFile[] = [];
  for (const { path, content } of files) {
    const secrets = await scanner.scan(content);
    examined.push({
      sha256: content === '' ? undefined : createHash('sha256').update(content).digest('base64'),
      chars: content.length,
      sketch: sketchText(content),
      links: findLinks(path, content),
      secrets: [...new Set(secrets.map(({ kind }) => kind))].sort(),
    });
  }
  return examined;
}
