/**
 * Random scripts with the same results and trees on the service and on the SDK's reference class, except for the
 * differences in section 5 of the contract. Comments quote each difference where the test accepts it.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  canonicalPath,
  fuzzParameters,
  type Input,
  respell,
  spelling,
  view_range,
} from '../support/arbitraries.ts';
import { readTree } from '../support/invariants.ts';
import type { Result } from '../support/model.ts';
import { normalizeReference, normalizeService, Reference } from '../support/reference-tool.ts';
import { freshTenant, type Service, startService } from '../support/test-service.ts';

const LINES = ['', 'a', 'b', 'aa', 'foo', 'foo bar', 'x\ty', 'a\r', 'é', '日本', '😀', '$&', '`'];
const text = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.array(fc.constantFrom(...LINES), { maxLength: 6 }).map((all) => all.join('\n')),
  },
  { weight: 1, arbitrary: fc.nat(5000).map((n) => 'z'.repeat(n)) },
);

// Names sort by code point. Without 😀, UTF-16 order equals code-point order.
const path = fc.tuple(
  canonicalPath.map((at) => at.replaceAll('😀', 'ü')),
  // "Canonical paths in results": only the service receives other spellings for a path.
  spelling,
);
type Path = [canonical: string, spelling: number];
const bothPaths = ([canonical, how]: Path) => ({ canonical, given: respell(canonical, how) });

type Step = { service: Input; reference: Input };

/** Builds a command for the service and the same command with canonical paths for the class. */
function step(command: string, paths: Record<string, Path>, rest: object = {}): Step {
  const name = (form: 'given' | 'canonical') =>
    Object.fromEntries(Object.entries(paths).map(([field, path]) => [field, bothPaths(path)[form]]));
  return {
    service: { command, ...name('given'), ...rest },
    reference: { command, ...name('canonical'), ...rest },
  };
}

// "`str_replace` matches across lines", "rejects an empty `old_str`": the class supports neither, so no step uses them.
const old_str = fc.constantFrom('a', 'b', 'aa', 'foo', 'o', 'o b', '日', '😀', '$&', 'zzz');
const new_str = fc.oneof(fc.constantFrom('', 'c', '$&', "$'", '$1$$', 'x\ny', '\n'), text);

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      // The class counts a negative end other than -1 from the end. In the contract, it is out of range.
      .tuple(
        path,
        fc.option(
          view_range.filter(([, end]) => end >= -1),
          { nil: undefined },
        ),
      )
      .map(([path, view_range]) => step('view', { path }, view_range && { view_range })),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(path, text).map(([path, file_text]) => step('create', { path }, { file_text })),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(path, old_str, fc.option(new_str, { nil: undefined }))
      .map(([path, old_str, new_str]) => {
        const { service } = step('str_replace', { path }, { old_str, new_str });
        // "Deletes on omitted `new_str`": the class writes "undefined".
        return {
          service,
          reference: step('str_replace', { path }, { old_str, new_str: new_str ?? '' }).reference,
        };
      }),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(path, fc.integer({ min: -1, max: 7 }), new_str)
      .map(([path, insert_line, insert_text]) => step('insert', { path }, { insert_line, insert_text })),
  },
  { weight: 1, arbitrary: path.map((path) => step('delete', { path })) },
  {
    weight: 3,
    arbitrary: fc.tuple(path, path).map(([old_path, new_path]) => step('rename', { old_path, new_path })),
  },
);

describe('random scripts on the service and on BetaLocalFilesystemMemoryTool', () => {
  let service: Service;
  let reference: Reference;
  let compared = 0;
  let different = 0;

  beforeAll(async () => {
    [service, reference] = await Promise.all([startService('postgres'), Reference.start()]);
  });
  afterAll(async () => {
    console.log(
      `differential on the SDK's class: ${compared} steps equal, ${different} different by section 5`,
    );
    await Promise.all([service?.close(), reference?.close()]);
  });

  /** Runs a step on both and compares the results. */
  async function compare(tenant: string, step: Step): Promise<void> {
    const { content, is_error } = await service.execute(step.service, { tenant });
    const ours = normalizeService({ content, is_error });
    different += 1;
    if (ours.content.startsWith('No replacement was performed. Multiple')) {
      // "Reports two matches on one line": the class counts them as one and replaces the first.
      const lines = /in lines: ([\d, ]+)\. /.exec(ours.content)?.[1]?.split(', ') ?? [];
      if (new Set(lines).size < lines.length) return;
    }
    const theirs = normalizeReference(await reference.run(step.reference), step.reference);
    // "A failed command changes no directory": the class leaves the parents that it created.
    const mayLeave = is_error && ['create', 'rename'].includes(step.service.command);
    if (mayLeave) await reference.removeStrayDirectories(await readTree(service, tenant));
    if (!isKnownDifference(ours, theirs)) {
      different -= 1;
      compared += 1;
      expect({ step, ...ours }).toEqual({ step, ...theirs });
    }
  }

  it('returns the same results and the same tree as BetaLocalFilesystemMemoryTool for random scripts', {
    tags: 'random',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 15, maxLength: 40, size: 'max' }), async (script) => {
        const tenant = freshTenant();
        await reference.clear();
        for (const step of script) await compare(tenant, step);
        expect(await readTree(service, tenant)).toEqual(await reference.tree());
      }),
      fuzzParameters(50),
    );
  });
});

/** Whether two normalized results differ in a way that section 5 allows. */
function isKnownDifference(ours: Result, theirs: Result): boolean {
  // "Documented error strings": the contract has a sentence where the class reports an errno.
  if (ours.is_error && theirs.is_error && /^E[A-Z]+: /.test(theirs.content)) return true;
  // "`view_range` out of range is an error, not an empty listing".
  if (ours.content.startsWith('Invalid `view_range`')) {
    return !theirs.is_error && /^Here's the content of .* with line numbers:\n$/.test(theirs.content);
  }
  // "Its snippet covers all of a multi-line `new_str`": the class ends its snippet 2 lines below the first line of the
  // new text.
  const snippet = 'The memory file has been edited. ';
  return (
    ours.content.startsWith(snippet) &&
    theirs.content !== ours.content &&
    ours.content.startsWith(`${theirs.content}\n`)
  );
}
