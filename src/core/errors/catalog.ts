import { ACCESS_ERRORS } from './access.ts';
import { ARCHIVE_ERRORS } from './archive-errors.ts';
import type { ErrorDefinition, SharedCode } from './definition.ts';
import { DRAFT_ERRORS } from './draft-errors.ts';
import { OPERATION_ERRORS, PARAMETER_ERRORS } from './operation-errors.ts';
import { REQUEST_ERRORS } from './requests.ts';
import { SERVICE_ERRORS } from './service.ts';

export type { ErrorDefinition } from './definition.ts';

/**
 * All errors that a caller or an operator has to handle, by their reason. An error's code is stable because programs
 * use it. Both thrown errors and the examples in OpenAPI are created from this catalog. HTTP clients, the console, and
 * the command line show the same messages, which therefore name no command, option, or route.
 */
export const ERROR_CATALOG = {
  ...REQUEST_ERRORS,
  ...ACCESS_ERRORS,
  ...SERVICE_ERRORS,
  ...PARAMETER_ERRORS,
  ...OPERATION_ERRORS,
  ...ARCHIVE_ERRORS,
  ...DRAFT_ERRORS,
} satisfies Record<string, ErrorDefinition<never[]>>;

export type ErrorCode =
  | keyof (typeof REQUEST_ERRORS & typeof ACCESS_ERRORS & typeof SERVICE_ERRORS)
  | 'own_draft'
  | SharedCode;

/** The values in each reason's message. */
export type ErrorValues = {
  [R in keyof typeof ERROR_CATALOG]: Parameters<(typeof ERROR_CATALOG)[R]['problem']>;
};
