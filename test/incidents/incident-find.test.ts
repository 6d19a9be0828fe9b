/**
 * Finds a text in a tenant's current files, superseded versions, open drafts, and paths.
 *
 * @module-tag long-on-pglite
 */
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { eraseVersion } from '../../src/core/history/redact.ts';
import { createFindThread, Finder, type FindRequest, PLACES } from '../../src/features/incidents/find.ts';
import type { Query } from '../../src/features/search/search-query.ts';
import { fuzzParameters } from '../support/arbitraries.ts';
import { AUTHOR, Drafting } from '../support/drafting.ts';
import { cmd } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

/** A version in the model. `content` is null for a deletion, and both are null after redaction. */
interface ModelVersion {
  path: string | null;
  content: string | null;
}

/** The model's files, each with its versions, oldest first, and the directories that ever existed. */
class Model {
  files: { versions: ModelVersion[]; isDeleted: boolean }[] = [];
  directories = new Set<string>();

  live() {
    return this.files.filter(({ isDeleted }) => !isDeleted);
  }

  at(path: string) {
    return this.live().find(({ versions }) => versions.at(-1)?.path === path);
  }

  noteDirectory(path: string) {
    const directory = path.slice(0, path.lastIndexOf('/'));
    if (directory !== '/memories') this.directories.add(directory);
  }

  /** Copies the current files, as a draft does. */
  copy(): Model {
    const copy = new Model();
    copy.files = this.live().map(({ versions }) => ({ versions: versions.slice(-1), isDeleted: false }));
    copy.directories = new Set(this.directories);
    return copy;
  }
}

type Matches = (text: string) => number[];

/** Returns the expected hits as sorted lines of text. */
function expectedHits(models: readonly { label: string; model: Model }[], inText: Matches, places: string[]) {
  const found: string[] = [];
  for (const { label, model } of models) {
    const isRead = (place: string) => places.includes(label === 'draft' ? 'drafts' : place);
    for (const { versions, isDeleted } of model.files) {
      for (const [i, { path, content }] of versions.entries()) {
        const place = !isDeleted && i === versions.length - 1 ? 'current' : 'superseded';
        if (!isRead(place)) continue;
        const lines = content === null ? [] : inText(content);
        if (lines.length > 0) found.push(`${label} ${place} content ${path} ${lines[0]} ${lines.length}`);
        if (path !== null && inText(path).length > 0) found.push(`${label} ${place} path ${path} null 1`);
      }
    }
    // Directories are never deleted here.
    for (const path of model.directories)
      if (isRead('current') && inText(path).length > 0) found.push(`${label} directory ${path}`);
  }
  return found.sort();
}

async function findHits(finder: Finder, tenant: string, query: Query, places: FindRequest['places']) {
  const found: string[] = [];
  const request = { query, places, by: null, since: null, until: null };
  for await (const { hits, unsearched } of finder.find(tenant, request, new AbortController().signal)) {
    expect(unsearched).toBe(0);
    for (const hit of hits) {
      const label = hit.draft === null ? 'memory' : 'draft';
      if (hit.versionId === null) found.push(`${label} directory ${hit.path}`);
      else found.push(`${label} ${hit.place} ${hit.in} ${hit.path} ${hit.line} ${hit.lines}`);
    }
  }
  return found.sort();
}

/** Matching lines for a literal text, which may contain line breaks. */
const literal =
  (text: string, prepared = (given: string) => given): Matches =>
  (content) => {
    const lines = new Set<number>();
    const [searched, all] = [prepared(text), prepared(content)];
    for (let at = all.indexOf(searched); at !== -1; at = all.indexOf(searched, at + searched.length))
      lines.add(all.slice(0, at).split('\n').length);
    return [...lines];
  };

const regex =
  (expression: RegExp): Matches =>
  (content) =>
    content.split('\n').flatMap((line, i) => (expression.test(line) ? [i + 1] : []));

const piece = fc.constantFrom(
  'poison',
  'poi',
  'son',
  'POISON',
  'w1x ',
  'y2z ',
  ' ',
  '\n',
  '🦆',
  'é',
  'so',
  'n p',
  'clean text',
);
const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
const path = fc
  .tuple(fc.constantFrom('', 'old poison/', 'x/y/'), fc.constantFrom('a', 'poison', 'b.md', 'w1x y2z'))
  .map(([directory, name]) => `/memories/${directory}${name}`);
const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), path, text }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('replace' as const),
      at: fc.nat(),
      from: fc.nat(),
      to: fc.nat(),
      text,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('insert' as const), at: fc.nat(), text }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), at: fc.nat(), path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), at: fc.nat() }) },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

/** Applies an action to a tenant and its model, if the action is possible there. */
async function apply(service: Service, tenant: string, model: Model, given: Action): Promise<void> {
  const run = async (input: object) => {
    const { is_error, content } = await service.execute(input, { tenant });
    expect([is_error, content]).toStrictEqual([false, content]);
  };
  if (given.do === 'create') {
    if (model.at(given.path) !== undefined) return;
    await run(cmd.create(given.path, given.text));
    model.files.push({ versions: [{ path: given.path, content: given.text }], isDeleted: false });
    return model.noteDirectory(given.path);
  }
  const live = model.live();
  const file = live[given.at % Math.max(1, live.length)];
  const head = file?.versions.at(-1);
  if (file === undefined || head?.path == null || head.content === null) return;
  const { content } = head;
  switch (given.do) {
    case 'replace': {
      const characters = Array.from(content);
      const [from, to] = [given.from, given.to]
        .map((at) => at % (characters.length + 1))
        .sort((a, b) => a - b);
      const old = characters.slice(from, to).join('');
      // A text that occurs twice is rejected, and an unchanged text is no version.
      if (old === '' || content.split(old).length !== 2 || old === given.text) return;
      await run(cmd.replace(head.path, old, given.text));
      file.versions.push({ path: head.path, content: content.split(old).join(given.text) });
      return;
    }
    case 'insert':
      await run(cmd.insert(head.path, 0, given.text));
      file.versions.push({
        path: head.path,
        content: `${given.text.replace(/\n?$/, '\n')}${content}`,
      });
      return;
    case 'rename':
      if (model.at(given.path) !== undefined) return;
      await run(cmd.rename(head.path, given.path));
      file.versions.push({ path: given.path, content });
      return model.noteDirectory(given.path);
    case 'delete':
      await run(cmd.delete(head.path));
      file.versions.push({ path: head.path, content: null });
      file.isDeleted = true;
  }
}

const upper = (given: string) => given.toUpperCase();
const QUERIES: [Query, Matches][] = [
  [{ mode: 'literal', where: 'both', text: 'poison' }, literal('poison')],
  [{ mode: 'literal', where: 'both', text: 'n\np' }, literal('n\np')],
  [{ mode: 'literal', where: 'both', text: '🦆é' }, literal('🦆é')],
  [{ mode: 'literal', where: 'both', text: 'PoIsOn', ignoresCase: true }, literal('PoIsOn', upper)],
  [{ mode: 'regex', where: 'both', text: 'poi.?son$' }, regex(/poi.?son$/u)],
  [{ mode: 'regex', where: 'both', text: '(?i)n p' }, regex(/n p/iu)],
];

describeService('a find in one tenant', (service, kind) => {
  const thread = createFindThread();
  const drafting = new Drafting(service);
  afterAll(() => thread.close());
  const finder = () => new Finder(service().database, thread);

  it('finds the same hits as a model in files, versions, drafts, and paths after random changes', {
    tags: 'random',
  }, async () => {
    const places = fc.subarray([...PLACES], { minLength: 1 });
    const actions = fc.array(action, { minLength: 5, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(
        actions,
        fc.array(action, { maxLength: 6 }),
        fc.nat(),
        places,
        async (first, inDraft, redacted, read) => {
          const tenant = freshTenant('found');
          const model = new Model();
          await apply(service(), tenant, model, {
            do: 'create',
            path: '/memories/start',
            text: 'poison start',
          });
          for (const each of first) await apply(service(), tenant, model, each);
          await redactOne(tenant, model, redacted);
          const draft = await drafting.create(tenant);
          const draftModel = model.copy();
          for (const each of inDraft) await apply(service(), draft.id, draftModel, each);
          const models = [
            { label: 'memory', model },
            { label: 'draft', model: draftModel },
          ];
          for (const [query, matches] of QUERIES) {
            expect([query, await findHits(finder(), tenant, query, read)]).toStrictEqual([
              query,
              expectedHits(models, matches, read),
            ]);
          }
        },
      ),
      fuzzParameters(kind === 'postgres' ? 100 : 24),
    );
  });

  /** Redacts a superseded version, with the file's versions that have the same content. */
  async function redactOne(tenant: string, model: Model, chosen: number): Promise<void> {
    const superseded = model.files.flatMap((file) =>
      file.versions.slice(0, file.isDeleted ? undefined : -1).map((version) => ({ file, version })),
    );
    const target = superseded[chosen % Math.max(1, superseded.length)];
    if (target === undefined || target.version.content === null) return;
    const { file, version } = target;
    if (!file.isDeleted && file.versions.at(-1)?.content === version.content) return;
    const rows = await service().query(
      `SELECT v.id::text FROM versions AS v WHERE v.tenant_id = $1 AND v.memory_id = (
         SELECT memory_id FROM memory_versions WHERE tenant_id = $1 GROUP BY memory_id ORDER BY memory_id OFFSET $2::bigint LIMIT 1
       ) ORDER BY v.id OFFSET $3::bigint LIMIT 1`,
      [tenant, model.files.indexOf(file), file.versions.indexOf(version)],
    );
    await eraseVersion(service().database, tenant, String(rows[0]?.id), { actor: AUTHOR });
    const { content } = version;
    for (const each of file.versions)
      if (each.content === content) Object.assign(each, { path: null, content: null });
  }

  it('finds words in any order and form in superseded versions', async () => {
    const tenant = freshTenant('words');
    const file = '/memories/notes.md';
    await service().execute(cmd.create(file, 'Ada\nlikes green teapots'), { tenant });
    await service().execute(cmd.replace(file, 'green', 'red'), { tenant });
    const { queryWords } = await import('../../src/features/search/words.ts');
    const query: Query = { mode: 'words', where: 'both', words: queryWords('teapot green') };
    expect(await findHits(finder(), tenant, query, PLACES)).toStrictEqual([
      'memory superseded content /memories/notes.md 2 1',
    ]);
  });
});
