/** A 64-bit key. */
export type ShortKey = readonly [number, number];

/** Rounds after the input. */
const LAST_ROUNDS = 3;

/**
 * Computes HalfSipHash-1-3 over a part of a text: a keyed 32-bit hash that is fast for short inputs
 * (https://github.com/veorq/SipHash). The input is the UTF-16 units in the text, in little-endian order.
 */
export function halfSipHash(key: ShortKey, text: string, from: number, to: number): number {
  const k0 = key[0];
  const k1 = key[1];
  let v0 = k0;
  let v1 = k1;
  let v2 = k0 ^ 0x6c796765;
  let v3 = k1 ^ 0x74656462;
  const units = to - from;
  const words = (units >> 1) + 1;
  for (let i = 0; i < words + LAST_ROUNDS; i++) {
    let word = 0;
    if (i < words) {
      const at = from + 2 * i;
      if (at < to) word = text.charCodeAt(at);
      word |= i === words - 1 ? (units * 2) << 24 : text.charCodeAt(at + 1) << 16;
    } else if (i === words) v2 ^= 0xff;
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  return v1 ^ v3;
}
