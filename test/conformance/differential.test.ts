/** Random scripts with the same results and the same tree on the service and on the model. */
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { anyInput, fuzzParameters } from '../support/arbitraries.ts';
import { assertInvariants, readTree } from '../support/invariants.ts';
import { Model } from '../support/model.ts';
import { describeService, freshTenant, setHistoryDays } from '../support/test-service.ts';

// Small enough for random scripts to reach.
const MAX_FILE_BYTES = 200;

// Every script uses two tenants, the second one rarely, and checks that it does not affect the first.
const step = fc.record({
  second: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  input: anyInput,
  // Set before the input. The setting does not change any result.
  historyDays: fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(0, 30) },
  ),
});
const script = fc.array(step, { minLength: 20, maxLength: 60, size: 'max' });

describeService(
  'random scripts',
  (service, kind) => {
    let steps = 0;

    afterAll(() => console.log(`differential on ${kind}: ${steps} steps, all equal to the model`));

    it('returns the same results and the same tree as the reference model for random scripts', {
      tags: 'random',
    }, async () => {
      await fc.assert(
        fc.asyncProperty(script, async (commands) => {
          const tenants = [freshTenant('one'), freshTenant('two')] as const;
          const models = [
            new Model({ maxFileBytes: MAX_FILE_BYTES }),
            new Model({ maxFileBytes: MAX_FILE_BYTES }),
          ];
          for (const { second, input, historyDays } of commands) {
            const tenant = tenants[second ? 1 : 0];
            if (historyDays !== undefined) await setHistoryDays(service(), tenant, historyDays);
            const expected = models[second ? 1 : 0]?.run(input);
            const { status, content, is_error } = await service().execute(input, { tenant });
            expect({ input, status, content, is_error }).toEqual({ input, status: 200, ...expected });
            steps += 1;
          }
          for (const [i, tenant] of tenants.entries()) {
            expect(await readTree(service(), tenant)).toEqual(models[i]?.tree);
          }
        }),
        // Scripts run slower on PGlite.
        fuzzParameters(kind === 'pglite' ? 60 : 100),
      );
      await assertInvariants(service());
    });
  },
  { MAX_FILE_BYTES: String(MAX_FILE_BYTES), MAX_VIEW_CHARS: '0' },
);
