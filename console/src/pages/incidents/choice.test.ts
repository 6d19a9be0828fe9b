import { expect, it } from 'vitest';
import { ALL, wholeChosenSelection } from './choice.ts';

it("selects a job's tenants by the same earlier job, without that job's state", () => {
  const job = { selection: { found_by: 'JOB', found_by_state: 'cancelled' as const }, only_tenants: null };
  expect(wholeChosenSelection(ALL, job)).toStrictEqual({ found_by: 'JOB' });
});
