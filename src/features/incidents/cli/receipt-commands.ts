import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { tenantId } from '../../../core/cli/arguments.ts';
import { readList, withCaller } from '../../../core/cli/caller.ts';
import { type Cli, command, group } from '../../../core/cli/cli-command.ts';
import { readText as readGiven } from '../../../core/cli/memory-commands.ts';
import { printJson, printLine, table, time } from '../../../core/cli/output.ts';
import { OperatorError } from '../../../core/errors/errors.ts';
import { amount } from '../../../core/lib/units.ts';
import {
  type ReceiptProblem,
  receiptProblem,
  type SignedReceipt,
  signedReceiptSchema,
} from '../../../core/tenants/receipt.ts';
import {
  checkReceiptText,
  getReceipt,
  getReceiptKey,
  listErasureReceipts,
} from '../admin/receipt-operations.ts';

const PROBLEMS: Readonly<Record<ReceiptProblem, string>> = {
  another_key: 'It is signed with another key',
  signature: 'Its signature is wrong: it was changed, or is a forgery',
  proof: 'The tenant in its proof is not the tenant of the receipt',
};

const listCommand = (cli: Cli) =>
  command(cli, 'list', 'List receipts, latest first.')
    .option(
      '--tenant <tenant>',
      'only receipts for this tenant, or for the hash of a forgotten tenant',
      tenantId,
    )
    .option('--json', 'print JSON')
    .examples('memory-service receipts list --tenant acme')
    .run(async ({ caller }, { tenant }: { tenant?: string }) => {
      const query = { limit: 200, ...(tenant && { tenant }) };
      const found = await readList(caller, listErasureReceipts, { query }, (page) => page.receipts);
      const text = table(found, {
        ID: ({ receipt }) => receipt.id,
        TIME: ({ receipt }) => time(receipt.at),
        KIND: ({ receipt }) => receipt.kind,
        TENANT: ({ receipt }) => receipt.tenant,
        ERASED: ({ receipt }) =>
          Object.entries(receipt.erased)
            .filter(([, count]) => count > 0)
            .map(([name, count]) => `${name}: ${count}`)
            .join(', '),
      });
      return { json: found, text };
    });

const showCommand = (cli: Cli) =>
  command(cli, 'show', 'Print a receipt as JSON, as a file for `receipts verify`.')
    .argument('<receipt>', 'ID of the receipt, from `receipts list`')
    .examples('memory-service receipts show 0b9ee7d4-2f6e-4e5f-8f5e-0c8f6a1d9b52 > receipt.json')
    .run(async ({ caller, io }, id: string) => {
      const { public_key: _, ...signed } = await caller.call(getReceipt, { params: { receipt: id } });
      printJson(io.stdout, signed);
    });

const keyCommand = (cli: Cli) =>
  command(
    cli,
    'key',
    'Print the public key with which receipts are verified. Keep a copy outside of the service.',
  )
    .examples('memory-service receipts key > receipts.pem')
    .run(async ({ caller, io }) => {
      const { public_key: pem } = await caller.call(getReceiptKey, {});
      io.stdout.write(pem);
    });

const verifyCommand = (cli: Cli) =>
  command(
    cli,
    'verify',
    'Verify the signature of a receipt, without a connection if the public key is given.',
  )
    .argument('<file>', 'file with the receipt')
    .option('--key <file>', 'file with the public key, from `receipts key` (default: the key of the service)')
    .option(
      '--text <file>',
      'also check that the receipt is about the text in this file, or - for standard input',
    )
    .examples(
      'memory-service receipts verify receipt.json --key receipts.pem',
      'memory-service receipts verify receipt.json',
      'memory-service receipts verify receipt.json --text - < secret.txt',
    )
    .action(async (file: string, { key, text }: { key?: string; text?: string }) => {
      const signed = await readReceipt(file);
      const pem =
        key === undefined
          ? await withCaller(cli.connect, async (caller) => (await caller.call(getReceiptKey, {})).public_key)
          : await readText(key);
      const problem = receiptProblem(signed, publicKey(pem, key));
      if (problem !== undefined) throw new OperatorError(`The receipt is not valid. ${PROBLEMS[problem]}.`);
      const { receipt, proof, key_id: keyId } = signed;
      if (text !== undefined) {
        const body = { text: (await readGiven(text, cli.io)).replace(/\r?\n$/, '') };
        const params = { receipt: receipt.id };
        const { matches } = await withCaller(cli.connect, (caller) =>
          caller.call(checkReceiptText, { params, body }),
        );
        if (!matches) throw new OperatorError('The receipt is not about this text.');
      }
      const erased = Object.entries(receipt.erased).map(([name, count]) => countText(name, count));
      const of = proof?.tenant ?? receipt.tenant;
      const lines = [
        `Valid, signed with the key ${keyId}.`,
        `${receipt.kind}, ${of === null ? 'many tenants' : `tenant ${of}`}, ${receipt.at}.`,
        `Searched: ${receipt.searched.join(', ')}.`,
        `Erased: ${erased.join(', ')}.`,
        ...(text === undefined ? [] : ['The receipt is about this text.']),
        ...receipt.remaining.map(
          ({ place, until }) => `May remain: ${place}, until ${until ?? 'you delete it'}.`,
        ),
      ];
      printLine(cli.io.stdout, lines.join('\n'));
    });

export const receiptCommands = group(
  'receipts',
  'Show and verify receipts of erasures, which the options --receipt of commands create.',
  [listCommand, showCommand, keyCommand, verifyCommand],
);

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`Cannot read ${file} (${error.code}).`);
  });
}

async function readReceipt(file: string): Promise<SignedReceipt> {
  const parsed = signedReceiptSchema.safeParse(parseJson(await readText(file)));
  if (parsed.success) return parsed.data;
  throw new OperatorError(`${file} is not a receipt of this service.`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function publicKey(pem: string, file: string | undefined) {
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Reported below, like a key with another type.
  }
  throw new OperatorError(`${file ?? 'The key of the service'} is not an Ed25519 public key.`);
}

/** Formats a count for a sentence: `stored_results` as `1 stored result`. Count names are plurals. */
function countText(name: string, count: number): string {
  const many = name.replaceAll('_', ' ');
  return amount(count, many.replace(/ies$/, 'y').replace(/s$/, ''), many);
}
