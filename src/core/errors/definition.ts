/** An error response's parts. */
export interface Problem {
  status: number;
  /** The problem and its remedy, for people. The message must not contain secrets. */
  message: string;
  /** Number of seconds after which the client should retry (the `Retry-After` header). */
  retryAfter?: number;
  /** The underlying error, for the log only. */
  cause?: unknown;
}

export interface ErrorDefinition<Values extends unknown[], Code extends string = string> {
  /** The code that programs see. The default is the entry's name. */
  code?: Code;
  /** The code's meaning, for the API description. */
  description: string;
  problem: (...values: Values) => Problem;
}

/** Codes shared by several reasons. Programs decide by the code, and people read the message. */
const SHARED = {
  invalid_parameter: {
    status: 400,
    description: 'A parameter or a body field is missing, unknown or not valid.',
  },
  not_found: { status: 404, description: 'The resource does not exist.' },
  rejected: {
    status: 409,
    description: 'The operation is not possible and changed no data; `detail` says why.',
  },
  history_incomplete: { status: 409, description: 'The history does not reach back that far.' },
  over_quota: { status: 409, description: "The result would exceed the tenant's quota." },
  precondition_failed: {
    status: 412,
    description:
      'The file does not match `If-Match` or `If-None-Match`, or the memory no longer matches a ' +
      "dry run's `plan`.",
  },
} as const;

export type SharedCode = keyof typeof SHARED;

/** Returns a function that defines a reason with this code from its message. */
export function reasonFor<Code extends SharedCode>(code: Code) {
  const { status, description } = SHARED[code];
  return <Values extends unknown[]>(
    message: (...values: Values) => string,
    more: Pick<Problem, 'retryAfter'> = {},
  ): ErrorDefinition<Values, Code> & { code: Code } => ({
    code,
    description,
    problem: (...values) => ({ status, message: message(...values), ...more }),
  });
}
