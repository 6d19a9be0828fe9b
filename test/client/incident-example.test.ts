/**
 * The example of an incident, as a user runs it, in fewer memories.
 *
 * @module-tag long
 */
import { expect, it, onTestFinished } from 'vitest';
import { startProcess } from '../support/process.ts';

it('finds, reverts, and erases a text with examples/incident.ts, and verifies the receipt', {
  timeout: 300_000,
}, async () => {
  const env = { TENANTS: '12', SERVICE: 'bin/memory-service serve' };
  const run = startProcess(process.execPath, ['--import', 'tsx', 'examples/incident.ts'], env);
  onTestFinished(async () => {
    run.child.kill();
    await run.exit;
  });
  const code = await run.exit;
  expect([code, run.output()]).toStrictEqual([0, expect.stringContaining('\nAll results are as expected.')]);
});
