import { expect, it } from 'vitest';
import { RepeatedFaults } from './repeated-faults.ts';

it('reports a repeated fault once, and then every ten minutes with the number of faults', () => {
  let now = 0;
  const faults = new RepeatedFaults(() => now);
  const reports: (number | undefined)[] = [];
  for (; now < 25 * 60 * 1000; now += 1000) {
    const report = faults.report('tenant jobs database_fault');
    if (report !== undefined) reports.push(report);
  }
  expect(reports).toStrictEqual([1, 600, 600]);
});

it('reports each kind of fault separately', () => {
  const faults = new RepeatedFaults(() => 0);
  expect([faults.report('a'), faults.report('b'), faults.report('a')]).toStrictEqual([1, 1, undefined]);
});
