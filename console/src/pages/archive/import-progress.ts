import { formatBytes } from '../../text/format.ts';

/** Progress bar state. */
export interface Progress {
  what: string;
  fraction: number | null;
}

export function byteProgress(doing: string, done: number, of: number): Progress {
  // A proxy that compresses the archive removes its length.
  if (of === 0) return { what: `${doing} ${formatBytes(done)}`, fraction: null };
  return { what: `${doing} ${formatBytes(done)} of ${formatBytes(of)}`, fraction: done / of };
}
