import { type RunnerTestFile, type RunnerTestSuite, TestRunner, type TestRunnerConfig } from 'vitest';

type OnCollected = (files: RunnerTestFile[]) => unknown;

/** Leaves out the tests whose tags the set excludes. Otherwise, the reporter counts them as skipped. */
export default class SetRunner extends TestRunner {
  constructor(config: TestRunnerConfig) {
    super(config as ConstructorParameters<typeof TestRunner>[0]);
    if (config.tagsFilter === undefined) return;
    // All tests in a file may be outside the set.
    this.config.passWithNoTests = true;
    let report: OnCollected | undefined;
    // Vitest sets this method to a function that reports the tests.
    Object.defineProperty(this, 'onCollected', {
      set(given: OnCollected) {
        report = given;
      },
      get(): OnCollected {
        const next = report;
        return (files) => {
          for (const file of files) leaveOut(file);
          return next?.(files);
        };
      },
    });
  }
}

function leaveOut(suite: RunnerTestSuite): void {
  suite.tasks = suite.tasks.filter((task) => {
    if (task.type === 'test') return TestRunner.matchesTags(task.tags ?? []);
    leaveOut(task);
    return task.tasks.length > 0;
  });
}
