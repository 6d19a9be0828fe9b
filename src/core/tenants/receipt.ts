import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson, type Json } from '../lib/canonical-json.ts';
import { deriveKey, type Installation } from './installation.ts';

/*
 * A receipt for an erasure: a statement that is signed with the installation's Ed25519 key. It contains IDs and counts,
 * and no contents and paths. docs/security.md describes the format.
 */

const RECEIPT_FORMAT = 'memory-service-receipt/1';

const text = z.string().max(1000);
const count = z.int().min(0);

/** The signed statement. Unknown fields are rejected, because a reader would not understand them. */
export const receiptSchema = z.strictObject({
  format: z.literal(RECEIPT_FORMAT),
  id: z.guid(),
  kind: z.enum(['tenant_deleted', 'version_redacted', 'directories_redacted', 'text_erased']),
  at: text.meta({ description: 'Database time after the erasure. ISO 8601, UTC.' }),
  by: z.record(text, z.union([text, z.null()])).meta({ description: 'The actor that made the erasure.' }),
  tenant: text.nullable().meta({
    description: "The tenant ID, or a forgotten ID's hash. Null for a job over many tenants.",
  }),
  searched: z.array(text).readonly().meta({ description: 'The data that was searched.' }),
  subject: z.record(text, text).meta({ description: "The deleted data's IDs, by their kind." }),
  erased: z.record(text, count).meta({ description: 'Deleted items, counted by their kind.' }),
  remaining: z
    .array(z.strictObject({ place: text, until: text.nullable() }))
    .meta({ description: 'Copies that remain by design. `until` is null if the operator deletes them.' }),
});

export type Receipt = z.infer<typeof receiptSchema>;

/** A file with a receipt. */
export const signedReceiptSchema = z.strictObject({
  receipt: receiptSchema,
  signature: text.meta({
    description: 'The Ed25519 signature over the receipt as canonical JSON (RFC 8785), in base64.',
  }),
  key_id: text.meta({
    description: 'The first 16 digits in the SHA-256 hash of the public key (SPKI, DER).',
  }),
  proof: z.strictObject({ tenant: text, salt: text }).optional().meta({
    description:
      "The ID and the salt whose hash is the receipt's `tenant`. The service does not store the salt.",
  }),
});

export type SignedReceipt = z.infer<typeof signedReceiptSchema>;

/** Prefix for an Ed25519 private key in PKCS #8 (RFC 8410). The seed follows. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Derives an installation's key pair from its secret. */
export function signingKey(installation: Pick<Installation, 'secret'>): KeyObject {
  const seed = deriveKey(installation, 'receipts');
  return createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

/** Returns the public key as PEM, from the private or the public key. */
export function publicKeyPem(key: KeyObject): string {
  const own = key.type === 'private' ? createPublicKey(key) : key;
  return own.export({ format: 'pem', type: 'spki' }).toString();
}

export function toKeyId(key: KeyObject): string {
  const own = key.type === 'private' ? createPublicKey(key) : key;
  const der = own.export({ format: 'der', type: 'spki' });
  return createHash('sha256').update(der).digest('hex').slice(0, 16);
}

export function signReceipt(receipt: Omit<Receipt, 'format'>, key: KeyObject): SignedReceipt {
  const body: Receipt = { format: RECEIPT_FORMAT, ...receipt };
  return {
    receipt: body,
    signature: sign(null, signedBytes(body), key).toString('base64'),
    key_id: toKeyId(key),
  };
}

function signedBytes(receipt: Receipt): Buffer {
  return Buffer.from(canonicalJson(receipt as unknown as Json));
}

/** Returns the hash that replaces a tenant's ID. */
export function forgottenId(tenant: string, salt: string): string {
  const salted = createHash('sha256').update(Buffer.from(salt, 'hex')).update(tenant).digest('hex');
  return `forgotten_${salted.slice(0, 32)}`;
}

/** Reason why a receipt is not valid. */
export type ReceiptProblem = 'another_key' | 'signature' | 'proof';

/** Verifies a receipt with a public key. Returns undefined if the receipt is valid. */
export function receiptProblem(
  { receipt, signature, key_id: keyId, proof }: SignedReceipt,
  publicKey: KeyObject,
): ReceiptProblem | undefined {
  if (keyId !== toKeyId(publicKey)) return 'another_key';
  if (!verify(null, signedBytes(receipt), publicKey, Buffer.from(signature, 'base64'))) return 'signature';
  if (proof !== undefined && forgottenId(proof.tenant, proof.salt) !== receipt.tenant) return 'proof';
  return undefined;
}
