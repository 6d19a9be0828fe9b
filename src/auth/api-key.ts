import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * An API key is `msk_`, 32 random bytes as 43 characters of base64url, and the CRC-32 of both as 6 characters of base62. The checksum
 * detects typos without a lookup and lets secret scanners recognize a key. This is the format of GitHub's tokens:
 * https://github.blog/engineering/behind-githubs-new-authentication-token-formats/
 */
const KEY = /^(msk_[A-Za-z0-9_-]{43})([A-Za-z0-9]{6})$/;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Generates a key. Store only `hash` (SHA-256, hexadecimal) and `id`; show `key` once. */
export function newApiKey(): { key: string; hash: string; id: string } {
  const body = `msk_${randomBytes(32).toString('base64url')}`;
  const key = body + checksum(body);
  return { key, hash: hashOf(key), id: keyId() };
}

/** A new name for a key; no secret. */
export function keyId(): string {
  return `key_${randomBytes(6).toString('hex')}`;
}

/** Whether a text has the format and checksum of a key. */
export function isApiKey(given: string): boolean {
  const [, body, sum] = KEY.exec(given) ?? [];
  return body !== undefined && sum === checksum(body);
}

/** Returns the hash by which a key is stored and looked up. */
export function hashOf(key: string): string {
  return hash('sha256', key, 'hex');
}

function checksum(body: string): string {
  let rest = crc32(body);
  let sum = '';
  for (let i = 0; i < 6; i++) {
    sum = BASE62[rest % 62] + sum;
    rest = Math.floor(rest / 62);
  }
  return sum;
}
