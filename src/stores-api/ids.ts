import { randomBytes } from 'node:crypto';

/* The ids of this API: those of the history are UUIDs, of which it shows the digits behind a prefix that names the kind. */

const DIGITS = /^[0-9a-f]{32}$/;

/** A new id for a store. It is a valid id of a tenant. */
export function newStoreId(): string {
  return `memstore_${randomBytes(12).toString('hex')}`;
}

export type IdKind = 'mem' | 'memver';

export function shownId(kind: IdKind, uuid: string): string {
  return `${kind}_${uuid.replaceAll('-', '')}`;
}

/** The UUID of an id, or undefined for a text that is no such id. */
export function uuidOf(kind: IdKind, id: string): string | undefined {
  const digits = id.startsWith(`${kind}_`) ? id.slice(kind.length + 1) : '';
  return DIGITS.test(digits) ? digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : undefined;
}
