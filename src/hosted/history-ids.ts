import { createHash } from 'node:crypto';
import { uuidOf } from '../stores-api/ids.ts';

/* The ids of imported versions. Those of this service stay what they are; others are hashed, so that importing again makes the same. */

const hashOf = (id: string) => createHash('sha256').update(id).digest('hex');

function withHyphens(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

export function memoryUuid(id: string): string {
  const hash = hashOf(id);
  return uuidOf('mem', id) ?? withHyphens(`${hash.slice(0, 12)}8${hash.slice(12, 15)}8${hash.slice(15, 30)}`);
}

/** Begins with the time, in microseconds since 1970: `memory_id_prefix` in migrations/functions/memory_history.sql. */
export function versionUuid(id: string, at: number): string {
  const milliseconds = Math.floor(at / 1000);
  const fraction = Math.floor(((at - milliseconds * 1000) * 4096) / 1000);
  const prefix = milliseconds.toString(16).padStart(12, '0') + (0x7000 + fraction).toString(16);
  const kept = uuidOf('memver', id);
  if (kept?.replaceAll('-', '').startsWith(prefix)) return kept;
  return withHyphens(`${prefix}8${hashOf(id).slice(0, 15)}`);
}
