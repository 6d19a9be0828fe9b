import { statfsSync } from 'node:fs';

const MEBIBYTE = 1024 * 1024;

/**
 * The embedded database writes nothing while its disk has less space than this. Postgres creates its write-ahead log in segments of
 * 16 MiB, and stops when it cannot create one; the reserve is for the statements that are running, and for the next start.
 */
export const RESERVED_BYTES = 64 * MEBIBYTE;

/** The free space that a new embedded database needs: its own size, and the reserve. */
export const NEW_DATABASE_BYTES = 128 * MEBIBYTE;

/** The bytes that this process may still write to a folder's file system; `Infinity` where the file system does not say. */
export function freeBytes(folder: string): number {
  const { bavail, bsize, blocks } = statfsSync(folder);
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}

/** Bytes in words, such as `12 MiB`. */
export function mebibytes(bytes: number): string {
  return `${Math.floor(bytes / MEBIBYTE)} MiB`;
}
