import { expect, it } from 'vitest';
import { ALL, wholeSelectionOf } from './choice.ts';

it('selects the tenants of a job by the same earlier job, without the state of that job', () => {
  const job = { selection: { found_by: 'JOB', found_by_state: 'cancelled' as const }, only_tenants: null };
  expect(wholeSelectionOf(ALL, job)).toStrictEqual({ found_by: 'JOB' });
});
