import { locateFile } from '../../core/files/mounts/located-file.ts';
import type { Provenance, Reader, ShownMatch } from '../../core/files/provenance.ts';
import type { FeatureService, Services } from '../../core/files/services.ts';
import { WorkerThreads } from '../../core/lib/worker-threads.ts';
import type { ShownLines } from '../../core/memory/commands/memory-command.ts';
import { type MemoryPath, ROOT } from '../../core/memory/path.ts';
import { attributeLines, type TextHistory } from './attribution.ts';
import { type FileHistory, readFileHistories, type Source, type Writer } from './file-history.ts';
import {
  changedMeanwhile,
  changeText,
  matchesBlock,
  type Place,
  unknownText,
  viewBlock,
} from './provenance-text.ts';

/** Limits for work on the event loop, in characters. It takes a few milliseconds. More work runs in a thread. */
const MAX_INLINE_CHARACTERS = 128 * 1024;
const MAX_INLINE_WORK = 1024 * 1024;
const MAX_THREAD_MS = 10_000;

/** A file with the last change to each line. */
interface AttributedFile {
  content: string;
  /** @param line from 1 */
  describe(line: number): string;
}

/** Finds who wrote the lines that a caller sees. */
export class LineProvenance implements Provenance, FeatureService {
  readonly #services: Services;
  readonly #threads = new WorkerThreads<TextHistory[], Int32Array[]>({
    module: new URL('./attribution', import.meta.url),
    threads: 2,
    perCaller: 1,
    idleMs: 30_000,
    maxHeapMiB: 256,
  });

  constructor(services: Services) {
    this.#services = services;
  }

  async describeView({ path, content, first, last }: ShownLines, reader: Reader): Promise<string> {
    const file = (await this.#attribute([path], reader)).get(path);
    if (file === undefined) return viewBlock(first, last, () => unknownText());
    return file.content === content ? viewBlock(first, last, file.describe) : changedMeanwhile;
  }

  async describeMatches(matches: readonly ShownMatch[], reader: Reader): Promise<string> {
    const paths = [...new Set(matches.map(({ path }) => path as MemoryPath))];
    const files = await this.#attribute(paths, reader);
    const linesByPath = new Map([...files].map(([path, { content }]) => [path, content.split('\n')]));
    return matchesBlock(
      matches.map(({ path, line, text }) => {
        const found = linesByPath.get(path)?.[line - 1] ?? '';
        const isSame = found.includes(text.replace(/^…|…$/g, ''));
        return { path, line, change: (isSame && files.get(path)?.describe(line)) || unknownText() };
      }),
    );
  }

  /** Returns the files at a caller's paths. A file whose history cannot be read is missing. */
  async #attribute(paths: readonly MemoryPath[], reader: Reader): Promise<Map<string, AttributedFile>> {
    const found: { path: string; place: Place; history: FileHistory }[] = [];
    for (const { source, place, files } of groupByMemory(paths, reader)) {
      const histories = await readFileHistories(this.#services.database.query, source, [...files.keys()]);
      for (const [inner, history] of histories)
        found.push({ path: files.get(inner) ?? inner, place, history });
    }
    const texts = found.map(({ history }) => history.text);
    const attributed = await this.#run(texts, reader.principal.tenant);
    return new Map(
      found.map(({ path, place, history }, i) => [path, toAttributedFile(history, attributed?.[i], place)]),
    );
  }

  /** @returns undefined if a thread exceeded its time or memory */
  async #run(histories: TextHistory[], caller: string): Promise<Int32Array[] | undefined> {
    if (countCharacters(histories) <= MAX_INLINE_CHARACTERS) {
      const { writers, isWithinLimit } = attributeLines(histories, MAX_INLINE_WORK);
      if (isWithinLimit) return writers;
    }
    const result = await this.#threads.runWithin(MAX_THREAD_MS, histories, caller);
    return Array.isArray(result) ? result : undefined;
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}

function countCharacters(histories: readonly TextHistory[]): number {
  return histories.reduce(
    (sum, { content, steps }) => steps.reduce((sum, { text }) => sum + text.length, sum + content.length),
    0,
  );
}

interface MemoryFiles {
  source: Source;
  place: Place;
  /** The caller's paths, by the paths in the memory. */
  files: Map<string, string>;
}

/** Groups a caller's paths by the memories that have the files. */
function groupByMemory(paths: readonly MemoryPath[], reader: Reader): MemoryFiles[] {
  const { principal, policy } = reader;
  const ownTenants = [principal.tenant, policy.draftOf];
  const memories = new Map<string, MemoryFiles>();
  for (const path of paths) {
    const { tenant, path: inner, viaTenant, mount } = locateFile(path, reader);
    const isMounted = viaTenant !== undefined;
    const key = `${tenant} ${path.slice(0, ROOT.length - inner.length)}`;
    let memory = memories.get(key);
    if (memory === undefined) {
      const { createdAt = null } = mount ?? policy;
      const draftOf = mount === undefined ? policy.draftOf : (mount.draftOf?.tenant ?? null);
      const source = { tenant, createdAt, draftOf };
      memory = { source, place: { isMounted, ownTenants }, files: new Map() };
      memories.set(key, memory);
    }
    memory.files.set(inner, path);
  }
  return [...memories.values()];
}

/** @param versions each line's version, as from `attributeLines`; undefined if they could not be found */
function toAttributedFile(
  { text: { content }, writers }: FileHistory,
  versions: Int32Array | undefined,
  place: Place,
): AttributedFile {
  const changes = new Map<number, string>();
  const describe = (line: number) => {
    const version = versions?.[line - 1];
    if (version === undefined) return unknownText();
    let change = changes.get(version);
    if (change === undefined) {
      const writer = writers[version < 0 ? ~version : version] as Writer;
      change = version < 0 ? unknownText(writer.createdAt) : changeText(writer, place);
      changes.set(version, change);
    }
    return change;
  };
  return { content, describe };
}
