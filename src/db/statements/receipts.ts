import { type BatchStatement, type Statement, statement, type Value } from '../statement.ts';

/** What a write under an idempotency key is remembered by. */
export type Receipt = { keyHash: string; requestHash: string; answer: string };
type WithReceipt<Params> = Params & Receipt;

/**
 * A writing statement, and the same one with a receipt: it also stores the answer, and fails with a unique violation
 * when the key has one already.
 *
 * @param text makes the statement from a part for its WITH list; the part's row comes from `source`
 * @param batch does many of both at once
 */
export function withAndWithoutReceipt<Params extends Record<string, Value>>(
  name: string,
  parameters: readonly (keyof Params & string)[],
  source: string,
  text: (receipt: string) => string,
  batch?: BatchStatement,
): { plain: Statement<Params, never>; keyed: Statement<WithReceipt<Params>, never> } {
  const n = parameters.length;
  const receipt = `, receipt AS (
  INSERT INTO idempotency_keys AS i (tenant_id, key_hash, request_hash, content, is_error)
  SELECT $1, $${n + 1}, $${n + 2}, $${n + 3}, false FROM ${source}
)`;
  return {
    plain: statement<Params>(name, parameters, text(''), batch),
    keyed: statement<WithReceipt<Params>>(
      `${name}_keyed`,
      [...parameters, 'keyHash', 'requestHash', 'answer'],
      text(receipt),
      batch,
    ),
  };
}

/** The answer under an idempotency key. */
export const findAnswerStatement = statement<
  { tenant: string; keyHash: string },
  { requestHash: string; content: string; isError: boolean }
>(
  'find_answer',
  ['tenant', 'keyHash'],
  `
SELECT request_hash AS "requestHash", content, is_error AS "isError" FROM idempotency_keys
WHERE tenant_id = $1 AND key_hash = $2
`,
);

/** Remembers the answer of a write that failed, and so changed nothing; counts 1, or 0 when the key has one already. */
export const rememberFailureStatement = statement<{ tenant: string } & Receipt>(
  'remember_failure',
  ['tenant', 'keyHash', 'requestHash', 'answer'],
  `
INSERT INTO idempotency_keys AS i (tenant_id, key_hash, request_hash, content, is_error)
VALUES ($1, $2, $3, $4, true) ON CONFLICT (tenant_id, key_hash) DO NOTHING
`,
);

export const receiptStatements = [findAnswerStatement, rememberFailureStatement] as const;
