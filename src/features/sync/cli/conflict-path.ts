import type { MemoryPath } from '../../../core/memory/path.ts';

/** Limit for a name in a memory and in common file systems. */
const MAX_NAME_BYTES = 255;

/**
 * Adds a label to a name in a path: `/memories/notes.md` becomes `/memories/notes (conflict LABEL).md`.
 *
 * @param named the path itself or a path above it, whose last segment receives the label
 * @param attempt a number above 1 is added to the label
 */
export function addConflictLabel(
  path: MemoryPath,
  named: MemoryPath,
  label: string,
  attempt: number,
): MemoryPath {
  const start = named.lastIndexOf('/') + 1;
  const name = named.slice(start);
  const [, stem = name, extension = ''] = /^(.+)(\.\w{1,20})$/u.exec(name) ?? [];
  const suffix = ` (conflict ${label}${attempt > 1 ? ` ${attempt}` : ''})${extension}`;
  const shortened = truncateBytes(stem, MAX_NAME_BYTES - Buffer.byteLength(suffix));
  return `${named.slice(0, start)}${shortened}${suffix}${path.slice(named.length)}`.normalize(
    'NFC',
  ) as MemoryPath;
}

/** Truncates a text to a number of UTF-8 bytes, without splitting a character. */
function truncateBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let kept = '';
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return kept;
}

/**
 * Returns the label for a local file: the device, and when the file was modified. The label does not depend on the time
 * of the synchronization, so that a repeated synchronization chooses the same name.
 */
export function conflictLabel(device: string, modifiedAt: Date): string {
  const [date = '', time = ''] = modifiedAt.toISOString().split('T');
  return `${device} ${date} ${time.slice(0, 8).replaceAll(':', '.')}`;
}

/** Returns a device's name without characters that a name in a path cannot contain. */
export function toDeviceName(hostname: string): string {
  return hostname.replace(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 40) || 'device';
}
