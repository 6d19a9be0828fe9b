import { expect, it } from 'vitest';
import { ALL, wholeChosenSelection } from './choice.ts';

it("omits the earlier job's state from the selection when it selects all tenants in a job", () => {
  const job = { selection: { found_by: 'JOB', found_by_state: 'cancelled' as const }, only_tenants: null };
  expect(wholeChosenSelection(ALL, job)).toStrictEqual({ found_by: 'JOB' });
});
