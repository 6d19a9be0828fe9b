import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest files, slowest first. The others follow in vitest's order. */
const LONGEST = [
  'console/roles',
  'console/accessibility',
  'console/widths',
  'archive/archive-history',
  'incidents/revert-jobs',
  'http/documented-errors',
  'incidents/erase',
  'http/openapi-document',
  'incidents/find-commands',
  'feed/fleet-log',
  'tenants/columns',
  'history/erasing',
  'http/service-lifecycle',
];

/** Starts slow files early, so that no worker runs one alone at the end, and keeps a project's files together. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      const place = LONGEST.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return (project.name === 'unit' ? 2 * LONGEST.length : 0) + (place < 0 ? LONGEST.length : place);
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
