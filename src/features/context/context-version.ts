import { createHash } from 'node:crypto';

/** State of the memories in a context, which a client sends back to get the changes since. */
export interface ContextVersion {
  /** Hash of the snapshot. */
  snapshot: string;
  /** Hash of the guidance, the memories, and the settings. Changes since another basis are not known. */
  basis: string;
  /** Times when each memory was last changed, ISO 8601 with microseconds. */
  times: readonly string[];
}

const FORM = /^([\w-]{22})\.([\w-]{11})((?:\.[0-9a-z]{1,12}){1,64})$/;

/** Returns a short hash. */
export function hashText(text: string, length: 11 | 22): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, length);
}

export function formatVersion({ snapshot, basis, times }: ContextVersion): string {
  return [snapshot, basis, ...times.map((time) => toMicroseconds(time).toString(36))].join('.');
}

/** Returns undefined for a text that is no version. */
export function parseVersion(text: string): ContextVersion | undefined {
  const [, snapshot, basis, times] = FORM.exec(text) ?? [];
  if (snapshot === undefined || basis === undefined || times === undefined) return undefined;
  return { snapshot, basis, times: times.slice(1).split('.').map(fromMicroseconds) };
}

/** The integer is exact until the year 2255. */
function toMicroseconds(time: string): number {
  return Date.parse(`${time.slice(0, 23)}Z`) * 1000 + Number(time.slice(23, 26));
}

function fromMicroseconds(digits: string): string {
  const micros = Math.min(Number.parseInt(digits, 36), Number.MAX_SAFE_INTEGER);
  const iso = new Date(Math.floor(micros / 1000)).toISOString();
  return `${iso.slice(0, -1)}${String(micros % 1000).padStart(3, '0')}Z`;
}
