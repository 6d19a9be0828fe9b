import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../lib/canonical-json.ts';
import { forgottenId, publicKeyPem, receiptProblem, signingKey, signReceipt } from './receipt.ts';

const key = signingKey({ secret: Buffer.alloc(32, 1) });
const publicKey = createPublicKey(publicKeyPem(key));
const salt = 'ab'.repeat(32);
const signed = signReceipt(
  {
    id: '0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52',
    kind: 'tenant_deleted',
    at: '2026-11-25T17:40:55.041000Z',
    by: { type: 'operator', name: 'ada' },
    tenant: forgottenId('acme', salt),
    searched: ['files'],
    subject: {},
    erased: { files: 2 },
    remaining: [{ place: 'backups', until: null }],
  },
  key,
);

describe('canonical JSON', () => {
  it('sorts names by their UTF-16 units, and writes no white space', () => {
    // The names in the example from RFC 8785, section 3.2.3.
    const names = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 };
    expect(canonicalJson(names)).toBe(
      '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\u{1f600}":5,"\ufb33":3}',
    );
    expect(canonicalJson({ b: [true, null, -1, 'a"\n'], a: {} })).toBe(
      '{"a":{},"b":[true,null,-1,"a\\"\\n"]}',
    );
  });

  it('rejects numbers that are not integers', () => {
    expect(() => canonicalJson({ a: 1.5 })).toThrow('Only integers');
  });
});

describe('a receipt', () => {
  it("verifies a receipt by the public key, even if the receipt's fields are in another order", () => {
    expect(receiptProblem(signed, publicKey)).toBeUndefined();
    const names = Object.entries(signed.receipt).reverse();
    const reversed = Object.fromEntries(names) as typeof signed.receipt;
    expect(receiptProblem({ ...signed, receipt: reversed }, publicKey)).toBeUndefined();
    expect(receiptProblem({ ...signed, proof: { tenant: 'acme', salt } }, publicKey)).toBeUndefined();
  });

  it.each([
    ['another number', { erased: { files: 3 } }],
    ['another time', { at: '2026-11-25T17:40:55.042000Z' }],
    ['fewer copies', { remaining: [] }],
    ['another tenant', { tenant: 'globex' }],
  ])('rejects a receipt with %s', (_, change) => {
    const receipt = { ...signed.receipt, ...change };
    expect(receiptProblem({ ...signed, receipt }, publicKey)).toBe('signature');
  });

  it('rejects a receipt with another key, signature, or proof', () => {
    const other = createPublicKey(publicKeyPem(signingKey({ secret: Buffer.alloc(32, 2) })));
    expect(receiptProblem(signed, other)).toBe('another_key');
    expect(receiptProblem({ ...signed, signature: 'AAAA' }, publicKey)).toBe('signature');
    expect(receiptProblem({ ...signed, proof: { tenant: 'globex', salt } }, publicKey)).toBe('proof');
  });
});
