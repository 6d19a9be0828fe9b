import { statfsSync } from 'node:fs';

const MEBIBYTE = 1024 * 1024;

/**
 * The embedded database writes nothing while its disk has less space than this. Postgres creates its write-ahead log in segments of
 * 16 MiB, and stops when it cannot create one; the reserve is for the statements that are running, and for the next start.
 */
export const RESERVED_BYTES = 64 * MEBIBYTE;

/** The free space that a new embedded database needs: its own size, and the reserve. */
export const NEW_DATABASE_BYTES = 128 * MEBIBYTE;

/** Free space on the file system of a folder, in bytes. `Infinity` if the file system does not report it. */
export function freeBytes(folder: string): number {
  const { bavail, bsize, blocks } = statfsSync(folder);
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

/** Formats bytes, such as `12 MiB`. */
export function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / MEBIBYTE)} MiB`;
}
