/**
 * Share of questions whose answer a search by words ranks among the first three files: 60 questions over 300 files
 * (quality/), ten of them not in English. Prints the score and the score for full text search in Postgres.
 *
 * @module-tag long
 */
import { expect, it } from 'vitest';
import { freshTenant, type Service, startSharedService } from '../support/test-service.ts';
import { files, questions } from './quality/quality-files.ts';

const FIRST = 3;
const NEEDED = 0.9;
const BLOCKS = 30;
/** Questions from this index on are in other languages. */
const OTHER_LANGUAGES = 50;

async function remember(service: Service, tenant: string): Promise<void> {
  for (let start = 0; start < files.length; start += BLOCKS) {
    const calls = files.slice(start, start + BLOCKS).map(({ path, content }, i) => ({
      type: 'tool_use',
      id: `seed_${start + i}`,
      name: 'memory',
      input: { command: 'create', path, file_text: content },
    }));
    const { body } = await service.execute(calls, { tenant });
    expect(body).not.toContainEqual(expect.objectContaining({ is_error: true }));
  }
}

async function findBySearch(service: Service, tenant: string, query: string): Promise<string[]> {
  const payload = { query, max_results: 20 };
  const headers = { 'x-tenant-id': tenant };
  const response = await service.app.inject({ method: 'POST', url: '/search', headers, payload });
  const { matches } = response.json() as { matches: { path: string }[] };
  return [...new Set(matches.map(({ path }) => path))];
}

/** Full text search in Postgres over the same texts, with its configuration for English. */
const FULL_TEXT = (query: string) => `
SELECT e.path FROM entries AS e, ${query} AS query,
  to_tsvector('english', translate(e.path, '/-.', '   ') || ' ' || e.content) AS text
WHERE e.tenant_id = $1 AND e.kind = 'file' AND text @@ query
ORDER BY ts_rank(text, query, 1) DESC, e.path LIMIT ${FIRST}`;
const ALL_WORDS = FULL_TEXT("plainto_tsquery('english', $2)");
const ANY_WORD = FULL_TEXT("CAST(replace(plainto_tsquery('english', $2)::text, '&', '|') AS tsquery)");

it('returns the file with the answer among the first three results for nine questions in ten', {
  timeout: 60_000,
}, async () => {
  const service = await startSharedService('postgres');
  const tenant = freshTenant();
  await remember(service, tenant);
  const findByFullText = async (sql: string, query: string) =>
    (await service.query(sql, [tenant, query])).map(({ path }) => String(path));
  const ways = {
    memory_search: (query: string) => findBySearch(service, tenant, query),
    'Postgres, all words': (query: string) => findByFullText(ALL_WORDS, query),
    'Postgres, any word': (query: string) => findByFullText(ANY_WORD, query),
  };
  const found: Record<string, boolean[]> = {};
  for (const [name, search] of Object.entries(ways)) {
    const answers = [];
    for (const { path, query } of questions)
      answers.push((await search(query)).slice(0, FIRST).includes(path));
    found[name] = answers;
  }
  const score = (answers: boolean[] = []) => `${answers.filter(Boolean).length} of ${answers.length}`;
  for (const [name, answers] of Object.entries(found)) {
    console.log(`${name}: ${score(answers)}, other languages ${score(answers.slice(OTHER_LANGUAGES))}`);
  }
  const missed = questions.filter((_, i) => !found.memory_search?.[i]).map(({ query }) => query);
  console.log(`memory_search missed: ${missed.join('; ')}`);
  await service.close();

  expect([files.length, questions.length]).toStrictEqual([300, 60]);
  const answered = found.memory_search ?? [];
  expect(answered.filter(Boolean).length).toBeGreaterThanOrEqual(NEEDED * questions.length);
});
