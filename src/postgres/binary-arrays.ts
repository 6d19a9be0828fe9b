import pg from 'pg';
import type { Value } from './query.ts';

/**
 * Encodes arrays of strings in Postgres' binary format, which pg sends for a Buffer. The text format scans each character for quotes, here
 * and on the server (docs/decisions/0002-binary-arrays.md).
 */
export function encoded(value: Value | undefined): unknown {
  return Array.isArray(value) && value.some((each) => typeof each === 'string')
    ? textArray(value as (string | null)[])
    : value;
}

/** The binary format of `text[]`: array_recv in Postgres' src/backend/utils/adt/arrayfuncs.c. */
function textArray(strings: (string | null)[]): Buffer {
  const lengths = strings.map((each) => (each === null ? 0 : Buffer.byteLength(each)));
  const buffer = Buffer.allocUnsafe(20 + lengths.reduce((sum, length) => sum + 4 + length, 0));
  buffer.writeInt32BE(1, 0); // dimensions
  buffer.writeInt32BE(strings.includes(null) ? 1 : 0, 4);
  buffer.writeInt32BE(pg.types.builtins.TEXT, 8);
  buffer.writeInt32BE(strings.length, 12);
  buffer.writeInt32BE(1, 16); // the first index
  let at = 20;
  for (const [i, string] of strings.entries()) {
    at = buffer.writeInt32BE(string === null ? -1 : (lengths[i] ?? 0), at);
    if (string !== null) at += buffer.write(string, at);
  }
  return buffer;
}
