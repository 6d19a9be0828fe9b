import { writeFile } from 'node:fs/promises';
import { OperatorError } from '../errors/errors.ts';
import type { SignedReceipt } from '../tenants/receipt.ts';
import { formatJson } from './output.ts';

export const RECEIPT_HELP = 'write a signed receipt to this file, without contents and paths';

/** @throws OperatorError if the file cannot be written */
export async function saveReceipt(file: string, receipt: SignedReceipt | undefined): Promise<void> {
  if (receipt === undefined) return;
  await writeFile(file, `${formatJson(receipt)}\n`).catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(
      `Cannot write ${file} (${error.code}). The receipt is stored: memory-service receipts show ${receipt.receipt.id}`,
    );
  });
}
