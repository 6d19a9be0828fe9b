import type { ImportProgress } from '../api/transfer.ts';
import type { ImportResult } from '../api/types.ts';
import { count, formatBytes, formatNumber } from '../text/format.ts';

/** State of a progress bar. */
export interface Progress {
  what: string;
  fraction: number | null;
}

const SENDING = 'Uploading and checking';
export const IMPORTING: Progress = { what: SENDING, fraction: null };

export function progressOf({ step, done, of }: ImportProgress): Progress {
  if (step === 'send') return amountOf(SENDING, done, of);
  return { what: `Writing ${formatNumber(done)} of ${count(of, 'file')}`, fraction: done / of };
}

export function amountOf(doing: string, done: number, of: number): Progress {
  // A proxy that compresses the archive removes its length.
  if (of === 0) return { what: `${doing} ${formatBytes(done)}`, fraction: null };
  return { what: `${doing} ${formatBytes(done)} of ${formatBytes(of)}`, fraction: done / of };
}

export function importedText(did: string, { files, bytes, masked }: ImportResult): string {
  const note = masked.length === 0 ? '' : ` Secrets were masked in ${count(masked.length, 'file')}.`;
  return `${did} ${count(files, 'file')} (${formatBytes(bytes)}).${note}`;
}
