import { batches } from '../util/batches.ts';
import type { History } from './history.ts';
import { stillLive } from './redact.ts';
import type { Version } from './version.ts';

const BATCH = { items: 100, weight: 4 * 1024 * 1024 };

/** A version that a redaction leaves, although it may hold some of what is to go. */
export interface RemainingVersion {
  version: Version;
  isLive: boolean;
  /** Of the same file. */
  isSameFile: boolean;
  /** It has a path that is redacted. */
  hasPath: boolean;
  /** How many different lines of the content are in its own, without blank ones and spaces around them. */
  sharedLines: number;
}

/** What a redaction would do. */
export interface RedactionPreview {
  /** The version and those of the file with the same content. None when it is redacted already. */
  redacted: Version[];
  /** The other versions of the file, and those of other files with a path or a line of it. */
  remaining: RemainingVersion[];
  /** How many different lines the content has. */
  lines: number;
}

/**
 * Says what redacting a version would remove, and which versions may hold the same text or path and stay. Reads the tenant's whole
 * history, page by page.
 *
 * @throws OperatorError when there is no such version, or the live file has it or its content
 */
export async function previewRedaction(
  history: History,
  tenant: string,
  id: string,
): Promise<RedactionPreview> {
  const { version, content } = await history.existing(tenant, id);
  if (version.redactedAt !== null) return { redacted: [], remaining: [], lines: 0 };
  const redacted: Version[] = [];
  for await (const each of history.versions(tenant)) {
    if (!isRedactedWith(each, version)) continue;
    if (isHead(each)) throw stillLive(id, each.id);
    redacted.push(each);
  }
  const lines = linesOf(content ?? '');
  const paths = new Set(redacted.map(({ path }) => path));
  const remaining: RemainingVersion[] = [];
  const others = without(history.versions(tenant), version);
  for await (const batch of batches(others, { ...BATCH, weightOf: (each) => each.contentSizeBytes ?? 0 })) {
    const files = batch.filter(({ contentSha256 }) => contentSha256 !== null);
    const contents = await history.contents(
      tenant,
      files.map(({ id: versionId, memoryId }) => ({ memoryId, versionId })),
    );
    for (const each of batch) {
      const own = linesOf(contents.get(each.id) ?? '');
      const other = {
        version: each,
        isLive: isHead(each),
        isSameFile: each.memoryId === version.memoryId,
        hasPath: paths.has(each.path),
        sharedLines: [...lines].filter((line) => own.has(line)).length,
      };
      if (other.isSameFile || other.hasPath || other.sharedLines > 0) remaining.push(other);
    }
  }
  return { redacted, remaining, lines: lines.size };
}

const isHead = ({ supersededAt, operation }: Version) => supersededAt === null && operation !== 'deleted';

function isRedactedWith(version: Version, chosen: Version): boolean {
  if (version.id === chosen.id) return true;
  const { memoryId, contentSha256 } = chosen;
  return contentSha256 !== null && version.memoryId === memoryId && version.contentSha256 === contentSha256;
}

async function* without(versions: AsyncIterable<Version>, chosen: Version): AsyncGenerator<Version> {
  for await (const each of versions) {
    if (each.redactedAt === null && !isRedactedWith(each, chosen)) yield each;
  }
}

function linesOf(content: string): Set<string> {
  return new Set(
    content
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== ''),
  );
}
