import { expect, it } from 'vitest';
import { BatchLimits, RunningStatements } from './running-statements.ts';

it('starts another statement for half as many calls as in the last one, if a connection is free', () => {
  const limits = new BatchLimits(32, 3);
  const statements = new RunningStatements(limits);
  new RunningStatements(limits).start(1);
  expect(statements.mayStart(0)).toBe(false);
  expect(statements.mayStart(1)).toBe(true);
  statements.start(6);
  expect(statements.mayStart(2)).toBe(false);
  expect(statements.mayStart(3)).toBe(true);
  statements.start(3);
  expect(statements.mayStart(32)).toBe(false);
  statements.end();
  expect(statements.mayStart(2)).toBe(true);
});

it('starts another statement only for a full batch while the server mostly computes', () => {
  const statements = new RunningStatements(new BatchLimits(32, 4));
  for (let i = 0; i < 20; i++) statements.measure(3, 4);
  expect(statements.mayStart(1)).toBe(true);
  statements.start(6);
  expect(statements.mayStart(31)).toBe(false);
  expect(statements.mayStart(32)).toBe(true);
  for (let i = 0; i < 20; i++) statements.measure(1, 4);
  expect(statements.mayStart(3)).toBe(true);
});
