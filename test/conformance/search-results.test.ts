import { describe, expect, it } from 'vitest';
import { cmd, type Expected, error, type Files, ok } from '../support/step-table.ts';
import { describeService, freshTenant, type Service } from '../support/test-service.ts';

type Step = [input: object, expected: Expected];

const FILES: Files = {
  '/memories/projects/deploy.md':
    '# Deploying to staging\n\nRun `make stage`.\nThe cluster of staging is called Aurora.\n',
  '/memories/projects/release.md': 'We deploy on Tuesdays.\nNever deployed on Fridays!\n',
  '/memories/people/anaïs.md': 'Anaïs prefers café au lait.\nTwo policies: no meetings, no calls.\n',
  '/memories/.hidden/日記.md': '自動車保険の更新日は三月十日。\n',
  '/memories/empty.md': '',
};

/** Defines a test: on a new tenant with `files`, each `memory_search` input returns exactly the expected result. */
function searches(service: () => Service, title: string, files: Files, steps: Step[]): void {
  it(title, async () => {
    const tenant = freshTenant();
    for (const [path, text] of Object.entries(files)) {
      const made = await service().execute(cmd.create(path, text), { tenant });
      expect(made.content).toBe(`File created successfully at: ${path}`);
    }
    for (const [input, expected] of steps) {
      const answer = await search(service(), input, tenant);
      const { content, is_error } = answer.json();
      const got = is_error ? { error: content } : { ok: content };
      expect({ input, status: answer.statusCode, ...got }).toStrictEqual({ input, status: 200, ...expected });
    }
  });
}

function search(service: Service, input: unknown, tenant: string, headers: Record<string, string> = {}) {
  return service.app.inject({
    method: 'POST',
    url: '/search',
    headers: { 'content-type': 'application/json', 'x-tenant-id': tenant, ...headers },
    payload: JSON.stringify(input),
  });
}

describeService('memory_search', (service) => {
  searches(service, 'ranks files by the words of a search', FILES, [
    [
      { query: 'deploy staging' },
      ok(
        'Found 1 file in /memories with all of the words, and 1 with some of them, the best first:\n/memories/projects/deploy.md:1: # Deploying to staging\n/memories/projects/deploy.md:3: Run `make stage`.\n/memories/projects/deploy.md:4: The cluster of staging is called Aurora.\n/memories/projects/release.md:1: We deploy on Tuesdays.\n/memories/projects/release.md:2: Never deployed on Fridays!',
      ),
    ],
    [
      { query: 'CAFE', mode: 'words' },
      ok(
        'Found 1 file in /memories, the best first:\n/memories/people/anaïs.md:1: Anaïs prefers café au lait.',
      ),
    ],
    [
      { query: 'anais policy' },
      ok(
        'Found 1 file in /memories, the best first:\n/memories/people/anaïs.md:1: Anaïs prefers café au lait.\n/memories/people/anaïs.md:2: Two policies: no meetings, no calls.',
      ),
    ],
    [
      { query: 'What is the deploy password?' },
      ok(
        'No file in /memories has all of the words. Found 2 files with some of them, the best first:\n/memories/projects/deploy.md:1: # Deploying to staging\n/memories/projects/release.md:1: We deploy on Tuesdays.\n/memories/projects/release.md:2: Never deployed on Fridays!',
      ),
    ],
    [
      { query: '保険の更新' },
      ok(
        'Found 1 file in /memories, the best first:\n/memories/.hidden/日記.md:1: 自動車保険の更新日は三月十日。',
      ),
    ],
    [
      { query: 'empty' },
      ok('Found 1 file in /memories, the best first:\n/memories/empty.md (the path matches)'),
    ],
    [
      { query: 'deploy', path: '/memories/projects/', max_results: 1 },
      ok(
        'Found 2 files in /memories/projects, the best first:\n/memories/projects/deploy.md:1: # Deploying to staging\n[1 more file matches. Use more specific words, or search a directory with `path`.]',
      ),
    ],
    [
      { query: 'Zanzibar' },
      ok(
        'Nothing matches in /memories (5 files searched). Try other or fewer words, or view /memories to see what is there.',
      ),
    ],
    [
      { query: 'Zanzibar', path: '/memories/people/anaïs.md' },
      ok(
        'Nothing matches in /memories/people/anaïs.md (1 file searched). Try other or fewer words, or view /memories/people/anaïs.md to see what is there.',
      ),
    ],
  ]);

  searches(service, 'finds a literal text', FILES, [
    [
      { query: 'deploy', mode: 'literal' },
      ok(
        'Found 3 matches in 2 files in /memories:\n/memories/projects/deploy.md (the path matches)\n/memories/projects/release.md:1: We deploy on Tuesdays.\n/memories/projects/release.md:2: Never deployed on Fridays!',
      ),
    ],
    [
      { query: 'deploy', mode: 'literal', max_results: 2 },
      ok(
        'Found 3 matches in 2 files in /memories:\n/memories/projects/deploy.md (the path matches)\n/memories/projects/release.md:1: We deploy on Tuesdays.\n[1 more match. Use a more specific query, or search a directory with `path`.]',
      ),
    ],
    [
      { query: 'deploy', mode: 'literal', max_results: 1 },
      ok(
        'Found 3 matches in 2 files in /memories:\n/memories/projects/deploy.md (the path matches)\n[2 more matches. Use a more specific query, or search a directory with `path`.]',
      ),
    ],
    [
      { query: 'stage`.\nThe', mode: 'literal' },
      ok('Found 1 match in 1 file in /memories:\n/memories/projects/deploy.md:3: Run `make stage`.'),
    ],
    [
      { query: 'TUESDAYS', mode: 'literal' },
      ok(
        'Nothing matches in /memories (5 files searched). Matching is exact and case-sensitive. Mode `words` is more tolerant.',
      ),
    ],
  ]);

  searches(service, 'finds the matches of a regular expression', FILES, [
    [
      { query: '^We .*s\\.$|fridays', mode: 'regex' },
      ok('Found 1 match in 1 file in /memories:\n/memories/projects/release.md:1: We deploy on Tuesdays.'),
    ],
    [
      { query: '(?i)\\AWE|fridays', mode: 'regex' },
      ok(
        'Found 2 matches in 1 file in /memories:\n/memories/projects/release.md:1: We deploy on Tuesdays.\n/memories/projects/release.md:2: Never deployed on Fridays!',
      ),
    ],
    [
      { query: 'stage.*\\s+The', mode: 'regex' },
      ok(
        'Nothing matches in /memories (5 files searched). The expression is matched line by line, with upper and lower case unless it begins with (?i). Mode words is more tolerant.',
      ),
    ],
    [
      { query: '^$', mode: 'regex', path: '/memories/empty.md' },
      ok('Found 1 match in 1 file in /memories/empty.md:\n/memories/empty.md:1: '),
    ],
  ]);

  searches(service, 'explains invalid input of memory_search', { '/memories/f': 'x' }, [
    [{}, error('Error: Invalid input for memory_search: `query` is missing')],
    [{ query: null }, error('Error: Invalid input for memory_search: `query` must be a string')],
    [{ query: 7 }, error('Error: Invalid input for memory_search: `query` must be a string')],
    [{ query: '' }, error('Error: Invalid `query` parameter: it must not be empty')],
    [{ query: ' \n' }, error('Error: Invalid `query` parameter: it must not be empty')],
    [
      { query: 'x'.repeat(1_000_000) },
      error('Error: Invalid `query` parameter: it has 1000000 characters, and 1000 are allowed'),
    ],
    [
      { query: 'a\0b' },
      error(
        'Error: Invalid input for memory_search: `query` contains a NUL character (U+0000), which cannot be stored',
      ),
    ],
    [
      { query: '\ud800' },
      error(
        'Error: Invalid input for memory_search: `query` contains a lone surrogate (U+D800), which is not valid Unicode',
      ),
    ],
    [
      { query: '?!' },
      error(
        'Error: Invalid `query` parameter: it has no words. Use mode literal to search for other characters',
      ),
    ],
    [
      { query: 'x', mode: 'fuzzy' },
      error('Error: Invalid input for memory_search: `mode` must be words, literal or regex'),
    ],
    [
      { query: 'x', mode: ['words'] },
      error('Error: Invalid input for memory_search: `mode` must be words, literal or regex'),
    ],
    [
      { query: '(a', mode: 'regex' },
      error(
        'Error: Invalid `query` parameter: it is not a regular expression in RE2 syntax: missing closing ): `(a`',
      ),
    ],
    [
      { query: '(a)\\1', mode: 'regex' },
      error(
        'Error: Invalid `query` parameter: it is not a regular expression in RE2 syntax: invalid escape sequence: `\\1`',
      ),
    ],
    [
      { query: '(?=a)', mode: 'regex' },
      error(
        'Error: Invalid `query` parameter: it is not a regular expression in RE2 syntax: invalid or unsupported Perl syntax: `(?=`',
      ),
    ],
    [{ query: 'x', path: '/etc' }, error('Error: Path must start with /memories, got: /etc')],
    [
      { query: 'x', path: '/memories/../etc' },
      error('Error: Path /memories/../etc would escape /memories directory'),
    ],
    [
      { query: 'x', path: '/memories/g' },
      error('The path /memories/g does not exist. Please provide a valid path.'),
    ],
    [{ query: 'x', path: 1 }, error('Error: Invalid input for memory_search: `path` must be a string')],
    [
      { query: 'x', max_results: 0 },
      error('Error: Invalid `max_results` parameter: 0. It should be from 1 to 100'),
    ],
    [
      { query: 'x', max_results: -1 },
      error('Error: Invalid `max_results` parameter: -1. It should be from 1 to 100'),
    ],
    [
      { query: 'x', max_results: 101 },
      error('Error: Invalid `max_results` parameter: 101. It should be from 1 to 100'),
    ],
    [
      { query: 'x', max_results: 1.5 },
      error('Error: Invalid input for memory_search: `max_results` must be an integer'),
    ],
    [
      { query: 'x', max_results: '5' },
      error('Error: Invalid input for memory_search: `max_results` must be an integer'),
    ],
    [
      { query: 'x', mode: null, path: null, max_results: null, extra: 1 },
      ok('Found 1 file in /memories, the best first:\n/memories/f:1: x'),
    ],
  ]);

  searches(service, 'finds no file in an empty memory', {}, [
    [{ query: 'x' }, ok('There are no files in /memories.')],
    [{ query: 'x', mode: 'regex' }, ok('There are no files in /memories.')],
    [
      { query: 'a)', mode: 'regex', path: '/memories/d' },
      error(
        'Error: Invalid `query` parameter: it is not a regular expression in RE2 syntax: unexpected ): `a)`',
      ),
    ],
    [
      { query: 'x', path: '/memories/d' },
      error('The path /memories/d does not exist. Please provide a valid path.'),
    ],
  ]);

  it('shortens a long line to the text around the match', async () => {
    const tenant = freshTenant();
    await service().execute(cmd.create('/memories/f', `${'a '.repeat(200)}needle ${'b '.repeat(200)}`), {
      tenant,
    });
    for (const mode of ['words', 'literal', 'regex']) {
      const { matches } = (await search(service(), { query: 'needle', mode }, tenant)).json();
      expect(matches).toMatchObject([
        { path: '/memories/f', line: 1, text: `…${'a '.repeat(30)}needle ${'b '.repeat(116)}b…` },
      ]);
    }
  });

  it('returns matches as JSON, but returns only text for Accept: text/plain', async () => {
    const tenant = freshTenant();
    await service().execute(cmd.create('/memories/f', 'one\ntwo\n'), { tenant });
    expect((await search(service(), { query: 'two', mode: 'literal' }, tenant)).json()).toStrictEqual({
      content: 'Found 1 match in 1 file in /memories:\n/memories/f:2: two',
      is_error: false,
      matches: [{ path: '/memories/f', line: 2, text: 'two', score: null }],
    });
    const { matches } = (await search(service(), { query: 'two' }, tenant)).json();
    expect(matches).toStrictEqual([
      { path: '/memories/f', line: 2, text: 'two', score: expect.closeTo(0.949, 1) },
    ]);
    const text = await search(service(), { query: 'two', mode: 'x' }, tenant, { accept: 'text/plain' });
    expect(text.headers['x-memory-is-error']).toBe('true');
    expect(text.body).toBe('Error: Invalid input for memory_search: `mode` must be words, literal or regex');
  });

  it('runs the commands and searches in an array in order', async () => {
    const tenant = freshTenant();
    const block = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input });
    const answer = await service().execute(
      [
        block('a', 'memory', cmd.create('/memories/f', 'needle')),
        block('b', 'memory_search', { query: 'needle' }),
        block('c', 'memory', cmd.delete('/memories/f')),
        block('d', 'memory_search', { query: 'needle' }),
        block('e', 'memory_search', {}),
      ],
      { tenant },
    );
    const result = (id: string, content: string, is_error = false) => ({
      type: 'tool_result',
      tool_use_id: id,
      content,
      is_error,
    });
    expect(answer.body).toStrictEqual([
      result('a', 'File created successfully at: /memories/f'),
      result('b', 'Found 1 file in /memories, the best first:\n/memories/f:1: needle'),
      result('c', 'Successfully deleted /memories/f'),
      result('d', 'There are no files in /memories.'),
      result('e', 'Error: Invalid input for memory_search: `query` is missing', true),
    ]);
    const single = await service().execute(block('f', 'memory_search', { query: 'needle' }), { tenant });
    expect(single.body).toStrictEqual(result('f', 'There are no files in /memories.'));
  });

  it('rejects a search body that is not a JSON object', async () => {
    for (const input of [[], 'x', null]) {
      const answer = await search(service(), input, freshTenant());
      expect(answer.statusCode).toBe(400);
      expect(answer.json()).toMatchObject({
        code: 'invalid_parameter',
        detail: 'The body is not a JSON object. Send {"query": "what to look for"}.',
      });
    }
  });

  it("finds only files in the caller's own tenant", async () => {
    const [one, other] = [freshTenant(), freshTenant()];
    await service().execute(cmd.create('/memories/f', 'secret'), { tenant: one });
    await service().execute(cmd.create('/memories/g', 'other'), { tenant: other });
    const { matches } = (await search(service(), { query: 'secret other' }, other)).json();
    expect(matches).toMatchObject([{ path: '/memories/g' }]);
  });
});

describe('the result limit for memory_search', () => {
  describeService(
    'MAX_VIEW_CHARS=200',
    (service) => {
      it('omits the last matches if the result would exceed MAX_VIEW_CHARS', async () => {
        const tenant = freshTenant();
        const lines = Array.from({ length: 20 }, (_, i) => `needle ${i}`);
        await service().execute(cmd.create('/memories/f', lines.join('\n')), { tenant });
        const { content, matches } = (
          await search(service(), { query: 'needle', mode: 'literal' }, tenant)
        ).json();
        expect(content).toBe(
          'Found 20 matches in 1 file in /memories:\n/memories/f:1: needle 0\n/memories/f:2: needle 1\n/memories/f:3: needle 2\n[17 more matches. Use a more specific query, or search a directory with `path`.]',
        );
        expect(matches).toHaveLength(3);
      });
    },
    { MAX_VIEW_CHARS: '200' },
  );
});
