import { PROBLEM_JSON, problemOf, problemSchema } from './problem-details.ts';

/** A problem response as OpenAPI shows it, with an example for each code that it can have: code → detail. */
export function problemResponse(status: number, description: string, details: Record<string, string>) {
  const examples = Object.fromEntries(
    Object.entries(details).map(([code, detail]) => [
      code,
      { value: problemOf({ status, code, message: detail }, 'b7c1c1f0-5d4e-4a57-9a53-3f1f3b0e8a11') },
    ]),
  );
  return { [status]: { description, content: { [PROBLEM_JSON]: { schema: problemSchema, examples } } } };
}
