import type { QueryExecutor } from '../database/query.ts';
import { batches } from '../lib/pages.ts';
import { timeSliced } from '../lib/time-slice.ts';
import type { MemoryPath } from '../memory/path.ts';
import type { KeptOutTexts } from '../memory/secrets/kept-out.ts';
import { History } from './history.ts';
import type { RestoreTarget } from './restore-plan.ts';

const CONTENTS = { items: 100, weight: 4 * 1024 * 1024 };

type Target = RestoreTarget & { to: NonNullable<RestoreTarget['to']> };

/**
 * Returns the paths of planned files whose new content or path contains a text that is kept out, in path order. A
 * restore writes these files nevertheless, because it returns to a past state, so the caller is warned.
 *
 * @param readTargetText reads the text for a file that gets a text without a version
 */
export async function keptOutPaths(
  query: QueryExecutor,
  tenant: string,
  targets: readonly RestoreTarget[],
  keptOut: KeptOutTexts | undefined,
  readTargetText: (target: RestoreTarget) => Promise<string>,
): Promise<MemoryPath[]> {
  if (keptOut === undefined) return [];
  const history = new History({ query });
  const changed = targets.filter(
    (target): target is Target =>
      target.to !== null && (target.from?.sha256 !== target.to.sha256 || target.from.path !== target.to.path),
  );
  const found = new Set<MemoryPath>();
  const weigh = ({ to }: Target) => to.sizeBytes ?? 0;
  for await (const batch of batches(timeSliced(changed), { ...CONTENTS, weigh })) {
    const versions = batch.flatMap(({ memoryId, to: { versionId } }) =>
      versionId === null ? [] : [{ memoryId, versionId }],
    );
    const contents = await history.contents(tenant, versions);
    for (const target of batch) {
      const { path, versionId } = target.to;
      const content = versionId === null ? await readTargetText(target) : (contents.get(versionId) ?? '');
      const findings = [...(await keptOut.scan(path)), ...(await keptOut.scan(content))];
      if (findings.length > 0) found.add(path);
    }
  }
  return [...found].sort();
}
