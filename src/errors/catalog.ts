import { ACCESS_ERRORS } from './access.ts';
import { ARCHIVE_ERRORS } from './archives.ts';
import type { ErrorDefinition, SharedCode } from './definition.ts';
import { DRAFT_ERRORS } from './drafts.ts';
import { OPERATION_ERRORS, PARAMETER_ERRORS } from './operations.ts';
import { REQUEST_ERRORS } from './requests.ts';
import { SERVICE_ERRORS } from './service.ts';

export type { ErrorDefinition } from './definition.ts';

/**
 * Every error that a caller or an operator has to handle, by its reason. Its code is for programs, so it is stable.
 * Both the thrown errors and the examples in OpenAPI come from here. HTTP clients, the console and the command line
 * all show these messages: they name no command, no option and no route.
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

/** What programs see. */
export type ErrorCode =
  | keyof (typeof REQUEST_ERRORS & typeof ACCESS_ERRORS & typeof SERVICE_ERRORS)
  | 'own_draft'
  | SharedCode;

/** The values that a reason's message is made of. */
export type ErrorValues = {
  [R in keyof typeof ERROR_CATALOG]: Parameters<(typeof ERROR_CATALOG)[R]['problem']>;
};
