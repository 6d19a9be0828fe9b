import { descriptionOf, type ServiceError } from '../errors.ts';
import { PROBLEM_JSON, problemOf, problemSchema } from './problem-details.ts';

const REQUEST_ID = 'b7c1c1f0-5d4e-4a57-9a53-3f1f3b0e8a11';

/** Documents the errors of a route in OpenAPI: a response for each status, with its errors as examples. */
export function problemResponses(errors: ServiceError[]): Record<number, object> {
  const statuses = [...new Set(errors.map(({ status }) => status))].sort();
  return Object.fromEntries(
    statuses.map((status) => [status, problemResponse(errors.filter((error) => error.status === status))]),
  );
}

function problemResponse(errors: ServiceError[]): object {
  const meanings = [...new Set(errors.map(({ code, reason }) => `\`${code}\`: ${descriptionOf(reason)}`))];
  const description =
    meanings.length === 1 ? meanings.join() : meanings.map((each) => `- ${each}`).join('\n');
  const examples = Object.fromEntries(
    errors.map((error) => [error.reason, { value: problemOf(error, REQUEST_ID) }]),
  );
  return { description, content: { [PROBLEM_JSON]: { schema: problemSchema, examples } } };
}
