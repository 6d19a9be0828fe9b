import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * An API key is `mem_`, 32 random bytes as 43 characters of base64url, and 6 characters of base62 with the CRC-32 of what
 * stands before them: a typo is recognisable without a look-up, and a secret scanner can tell a key from noise. (The
 * form of GitHub's tokens: https://github.blog/engineering/behind-githubs-new-authentication-token-formats/)
 */
const KEY = /^(mem_[A-Za-z0-9_-]{43})([A-Za-z0-9]{6})$/;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Makes a key. Only `hash` (SHA-256, hexadecimal) and `id` are to be kept; `key` is to be shown once. */
export function newApiKey(): { key: string; hash: string; id: string } {
  const body = `mem_${randomBytes(32).toString('base64url')}`;
  const key = body + checksum(body);
  return { key, hash: hashOf(key), id: `key_${randomBytes(6).toString('hex')}` };
}

/** Whether a text is a key without a typo. */
export function isApiKey(given: string): boolean {
  const [, body, sum] = KEY.exec(given) ?? [];
  return body !== undefined && sum === checksum(body);
}

/** By what a key is kept and looked up. */
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
