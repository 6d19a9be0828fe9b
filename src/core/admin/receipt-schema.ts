import { signedReceiptSchema } from '../tenants/receipt.ts';
import { flag } from './fields.ts';

export const signedReceipt = signedReceiptSchema.meta({
  id: 'SignedReceipt',
  description:
    'A signed statement about an erasure, with IDs and counts. Save it as a file to verify it later.',
});

/** Query parameter for erasures that return a receipt. */
export const receiptFlag = flag
  .default(false)
  .meta({ description: 'Also sign and store a receipt, and return it as `receipt`.' });
