/** @module-tag long-on-pglite */
import { expect, it } from 'vitest';
import { pruneStoredResults } from '../../src/core/tenants/stored-results.ts';
import { assertInvariants } from '../support/invariants.ts';
import { cmd } from '../support/step-table.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { describeService, freshTenant, startService } from '../support/test-service.ts';

let ids = 0;
const block = (input: object, id = `toolu_${++ids}`) => ({ type: 'tool_use', id, name: 'memory', input });

describeService('a repeated write', (service) => {
  const send = async (tenant: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await service().execute(body, { tenant, headers });
    const given: { content?: unknown } & Record<string, unknown> = answer.body;
    return { ...given, content: given.content, replayed: answer.headers['idempotency-replayed'] };
  };
  const text = async (tenant: string, path: string) =>
    (await service().execute(cmd.view(path), { tenant })).content.replace(/^.*\n/, '');

  it('runs a write once if the tool_use ID is repeated, and returns the first result', async () => {
    const tenant = freshTenant();
    const steps: [object, string][] = [
      [cmd.create('/memories/f', 'one'), 'File created successfully at: /memories/f'],
      [cmd.insert('/memories/f', 1, 'two'), 'The file /memories/f has been edited.'],
      [cmd.insert('/memories/f', 1, 'two'), 'The file /memories/f has been edited.'],
      [
        cmd.replace('/memories/f', 'one', 'one one'),
        'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n     1\tone one\n     2\ttwo\n     3\ttwo',
      ],
      [cmd.rename('/memories/f', '/memories/g'), 'Successfully renamed /memories/f to /memories/g'],
      [cmd.create('/memories/f', 'again'), 'File created successfully at: /memories/f'],
      [cmd.delete('/memories/f'), 'Successfully deleted /memories/f'],
      [cmd.create('/memories/f', 'third'), 'File created successfully at: /memories/f'],
    ];
    const sent: [object, string][] = [];
    for (const [input, content] of steps) {
      const body = block(input);
      sent.push([body, content]);
      const answer = { type: 'tool_result', tool_use_id: body.id, content, is_error: false };
      expect(await send(tenant, body)).toStrictEqual({ ...answer, replayed: undefined });
      expect(await send(tenant, body)).toStrictEqual({ ...answer, replayed: 'true' });
    }
    for (const [body, content] of sent)
      expect(await send(tenant, body)).toMatchObject({ content, replayed: 'true' });
    expect(await text(tenant, '/memories/g')).toBe('     1\tone one\n     2\ttwo\n     3\ttwo');
    expect(await text(tenant, '/memories/f')).toBe('     1\tthird');
    await assertInvariants(service());
  });

  it('runs a write once if the Idempotency-Key is repeated, even with reordered fields', async () => {
    const tenant = freshTenant();
    await send(tenant, cmd.create('/memories/f', 'x'));
    const headers = { 'idempotency-key': 'key-1' };
    const first = await send(
      tenant,
      { command: 'insert', path: '/memories/f', insert_line: 0, insert_text: 'y' },
      headers,
    );
    const again = await send(
      tenant,
      { insert_text: 'y', insert_line: 0, path: '/memories/f', command: 'insert' },
      headers,
    );
    expect(first).toStrictEqual({
      content: 'The file /memories/f has been edited.',
      is_error: false,
      replayed: undefined,
    });
    expect(again).toStrictEqual({ ...first, replayed: 'true' });
    expect(await text(tenant, '/memories/f')).toBe('     1\ty\n     2\tx');
  });

  it('returns the stored error when a failed write is repeated', async () => {
    const tenant = freshTenant();
    await send(tenant, cmd.create('/memories/other'));
    const body = block(cmd.delete('/memories/f'));
    const failure = {
      type: 'tool_result',
      tool_use_id: body.id,
      content: 'Error: The path /memories/f does not exist',
      is_error: true,
    };
    expect(await send(tenant, body)).toStrictEqual({ ...failure, replayed: undefined });
    await send(tenant, cmd.create('/memories/f', 'x'));
    expect(await send(tenant, body)).toStrictEqual({ ...failure, replayed: 'true' });
    expect(await text(tenant, '/memories/f')).toBe('     1\tx');
  });

  it('stores no result and creates no tenant when a write to a missing tenant fails', async () => {
    const tenant = freshTenant();
    const body = block(cmd.delete('/memories/f'));
    const failure = { content: 'Error: The path /memories/f does not exist', replayed: undefined };
    expect(await send(tenant, body)).toMatchObject(failure);
    expect(await send(tenant, body)).toMatchObject(failure);
    for (const table of ['idempotency_keys WHERE tenant_id', 'tenants WHERE id']) {
      expect(await service().query(`SELECT 1 FROM ${table} = $1`, [tenant])).toStrictEqual([]);
    }
  });

  it('returns 422 and changes no file if a tool_use ID is reused for a different input', async () => {
    const tenant = freshTenant();
    const body = block(cmd.create('/memories/f', 'x'));
    await send(tenant, body);
    for (const input of [
      cmd.create('/memories/f', 'y'),
      cmd.create('/memories/g', 'x'),
      cmd.delete('/memories/f'),
    ]) {
      const rejected = await service().execute(block(input, body.id), { tenant });
      expect([rejected.status, rejected.body.code]).toStrictEqual([422, 'idempotency_key_reused']);
    }
    expect(await text(tenant, '/memories')).toBe('4.0K\t/memories\n1B\t/memories/f');
  });

  it('replays a repeated write only for the same tenant, and never replays a read', async () => {
    const [one, two] = [freshTenant(), freshTenant()];
    const body = block(cmd.create('/memories/f', 'x'));
    expect(await send(one, body)).toMatchObject({ is_error: false, replayed: undefined });
    expect(await send(two, body)).toMatchObject({ is_error: false, replayed: undefined });
    const read = block(cmd.view('/memories/f'));
    expect(await send(one, read)).toMatchObject({ is_error: false, replayed: undefined });
    await send(one, cmd.delete('/memories/f'));
    expect(await send(one, read)).toMatchObject({ is_error: true, replayed: undefined });
  });

  it('rejects an invalid Idempotency-Key', async () => {
    const create = cmd.create('/memories/f');
    const search = { type: 'tool_use', id: 'toolu_1', name: 'memory_search', input: { query: 'x' } };
    for (const body of [create, block(create), [block(create)], search]) {
      for (const key of ['', 'a b', 'x'.repeat(256)]) {
        const answer = await service().execute(body, { headers: { 'idempotency-key': key } });
        expect([answer.status, answer.body.code]).toStrictEqual([400, 'invalid_idempotency_key']);
      }
    }
  });

  it('returns only the start of a long result when a write is repeated', async () => {
    const tenant = freshTenant();
    await send(tenant, cmd.create('/memories/f', 'x'));
    const body = block(cmd.replace('/memories/f', 'x', 'é'.repeat(10_000)));
    const first = await send(tenant, body);
    const again = await send(tenant, body);
    expect(String(first.content)).toHaveLength(10_000 + 100);
    expect(again).toMatchObject({ is_error: false, replayed: 'true' });
    expect(again.content).toBe(
      `${String(first.content).slice(0, 1024)}\n[Truncated: the original result was too long to be stored in full.]`,
    );
  });

  it('runs a write once when it is sent many times simultaneously', async () => {
    const tenant = freshTenant();
    await send(tenant, cmd.create('/memories/f', 'x'));
    const body = block(cmd.insert('/memories/f', 0, 'y'));
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(tenant, body)));
    expect(new Set(answers.map(({ content }) => content))).toStrictEqual(
      new Set(['The file /memories/f has been edited.']),
    );
    expect(answers.filter(({ replayed }) => replayed === undefined)).toHaveLength(1);
    expect(await text(tenant, '/memories/f')).toBe('     1\ty\n     2\tx');
  });

  it('executes a repeated write again after IDEMPOTENCY_HOURS', async () => {
    const tenant = freshTenant();
    const body = block(cmd.create('/memories/f', 'x'));
    await send(tenant, body);
    const later = (hours: number) => new Date(Date.now() + hours * 3_600_000);
    await pruneStoredResults(service().database, { hours: 24, maxStoredResults: 0, now: later(23) });
    expect(await send(tenant, body)).toMatchObject({ replayed: 'true' });
    expect(
      await pruneStoredResults(service().database, { hours: 24, maxStoredResults: 0, now: later(25) }),
    ).toBeGreaterThan(0);
    expect(await send(tenant, body)).toMatchObject({
      content: 'Error: File /memories/f already exists',
      replayed: undefined,
    });
  });
});

it("deletes a tenant's oldest stored results above MAX_TENANT_STORED_RESULTS", async () => {
  const service = await startService('postgres', {
    MAX_TENANT_STORED_RESULTS: '200',
    RATE_LIMIT_PER_MINUTE: '0',
  });
  const [busy, other] = [freshTenant(), freshTenant()];
  for (const tenant of [busy, other]) await service.execute(cmd.create('/memories/g'), { tenant });
  const failingBlock = () => block(cmd.delete('/memories/f'));
  expect(await service.execute(failingBlock(), { tenant: other })).toMatchObject({ is_error: true });
  await Promise.all(
    Array.from({ length: 70 }, () =>
      service.execute(Array.from({ length: 10 }, failingBlock), { tenant: busy }),
    ),
  );
  await service.app.close();
  const kept = await service.query(
    'SELECT tenant_id AS tenant, count(*)::integer AS answers FROM idempotency_keys GROUP BY 1 ORDER BY 2',
  );
  expect(kept).toMatchObject([{ tenant: other, answers: 1 }, { tenant: busy }]);
  expect(kept[1]?.answers).toBeLessThan(700);
  expect(kept[1]?.answers).toBeGreaterThanOrEqual(200);

  await service.query(
    `INSERT INTO idempotency_keys (tenant_id, key_hash, request_hash, content, is_error, created_at)
     SELECT $1, 'key-' || n, 'x', 'x', true, now() - n * interval '1 second' FROM generate_series(1, 500) AS n`,
    [other],
  );
  await pruneStoredResults(service.database, { hours: 24, maxStoredResults: 200 });
  const left = await service.query(
    'SELECT count(*)::integer AS answers, max(key_hash) FILTER (WHERE key_hash LIKE $2) AS key FROM idempotency_keys WHERE tenant_id = $1',
    [other, 'key-3%'],
  );
  expect(left).toStrictEqual([{ answers: 200, key: 'key-39' }]);
  await service.close();
});

it('executes a write once when it is sent to two replicas simultaneously', async () => {
  const own = await createTestDatabase();
  const one = await startService('postgres', { DATABASE_URL: own.url });
  const two = await startService('postgres', { DATABASE_URL: own.url });
  const tenant = freshTenant();
  await one.execute(cmd.create('/memories/f', 'x'), { tenant });
  for (let round = 0; round < 20; round++) {
    const body = block(cmd.insert('/memories/f', 0, `round ${round}`));
    const answers = await Promise.all([one, two, one, two].map((each) => each.execute(body, { tenant })));
    expect(answers.map(({ content }) => content)).toStrictEqual(
      Array(4).fill('The file /memories/f has been edited.'),
    );
  }
  const { content } = await one.execute(cmd.view('/memories/f'), { tenant });
  expect(content.split('\n')).toHaveLength(1 + 21);
  await assertInvariants(one);
  await two.close();
  await one.close();
  await own.drop();
});

describeService('several tool calls in one request', (service) => {
  it('runs the calls in an array in order, returns one result per call, and continues after an error', async () => {
    const tenant = freshTenant();
    const blocks = [
      block(cmd.create('/memories/f', 'x')),
      block(cmd.create('/memories/f', 'y')),
      block({ command: 'nope' }),
      block(cmd.view('/memories/f')),
    ];
    const { status, body } = await service().execute(blocks, { tenant });
    const result = (i: number, content: string, is_error: boolean) => ({
      type: 'tool_result',
      tool_use_id: blocks[i]?.id,
      content,
      is_error,
    });
    const expected = [
      result(0, 'File created successfully at: /memories/f', false),
      result(1, 'Error: File /memories/f already exists', true),
      result(
        2,
        'Error: Unknown command: nope. The commands are view, create, str_replace, insert, delete, rename',
        true,
      ),
      result(3, "Here's the content of /memories/f with line numbers:\n     1\tx", false),
    ];
    expect([status, body]).toStrictEqual([200, expected]);
    // Each call is idempotent by itself, so a repeated request receives the same results.
    expect((await service().execute(blocks, { tenant })).body).toStrictEqual(expected);
  });

  it('returns an error for a reused tool_use ID in an array, and runs the other calls', async () => {
    const tenant = freshTenant();
    const first = block(cmd.create('/memories/f', 'x'));
    const blocks = [
      first,
      block(cmd.create('/memories/g', 'y'), first.id),
      block(cmd.view('/memories/f')),
      // Repeating the same write is not a conflict.
      first,
    ];
    const { status, body } = await service().execute(blocks, { tenant });
    expect(status).toBe(200);
    expect(body).toMatchObject([
      { tool_use_id: first.id, content: 'File created successfully at: /memories/f', is_error: false },
      {
        tool_use_id: first.id,
        content:
          'Error: This call was not run: the id of its tool_use block was used for another write before. Send it again under a new id.',
        is_error: true,
      },
      { content: "Here's the content of /memories/f with line numbers:\n     1\tx", is_error: false },
      { tool_use_id: first.id, content: 'File created successfully at: /memories/f', is_error: false },
    ]);
    expect((await service().execute(cmd.view('/memories/g'), { tenant })).is_error).toBe(true);
  });

  it('stops running the calls in an array when the results have reached the size limit', async () => {
    const tenant = freshTenant();
    await service().execute(cmd.create('/memories/f', 'x'.repeat(200_000)), { tenant });
    const views = Array.from({ length: 6 }, () => block(cmd.view('/memories/f')));
    const write = block(cmd.create('/memories/g', 'y'));
    const { status, body } = await service().execute([...views, write], { tenant });
    expect(status).toBe(200);
    const results = Object.values(body as Record<string, { content: string; is_error: boolean }>);
    // Each result is one character short of the limit, because a cut line leaves room for its hint.
    expect(results.slice(0, 5).map(({ content }) => content.length)).toStrictEqual(Array(5).fill(99_999));
    for (const { content, is_error } of results.slice(5)) {
      expect([content, is_error]).toStrictEqual([
        'Error: This call was not run because the results of this request have reached the size limit. Send it again in a separate request.',
        true,
      ]);
    }
    expect(await service().execute([write], { tenant })).toMatchObject({
      body: [{ content: 'File created successfully at: /memories/g', is_error: false }],
    });
  });

  it.each([
    ['no blocks', [], 'the array holds 0 tool_use blocks, and 1 to 32 are allowed'],
    [
      'too many blocks',
      Array.from({ length: 33 }, () => block(cmd.view('/memories'))),
      'the array holds 33 tool_use blocks, and 1 to 32 are allowed',
    ],
    ['a bare input', [cmd.view('/memories')], 'item 0 of the array is not a tool_use block'],
    ['null', [null], 'item 0 of the array is not a tool_use block'],
    [
      'a block without an ID',
      [block(cmd.create('/memories/never')), block(cmd.view('/memories'), '')],
      'item 1 of the array: the tool_use block has no `id`',
    ],
    [
      'an ID that is too long',
      [block(cmd.create('/memories/never')), block(cmd.view('/memories'), 'x'.repeat(256))],
      "item 1 of the array: the tool_use block's `id` is longer than 255 characters",
    ],
  ])('rejects an invalid array without running any call: %s', async (_title, blocks, why) => {
    const tenant = freshTenant();
    const { status, body } = await service().execute(blocks, { tenant });
    expect([status, body.code, body.detail]).toStrictEqual([
      400,
      'not_a_memory_input',
      `The body is not a memory tool input: ${why}. Send {"command": "view", "path": "/memories"} or a whole tool_use block.`,
    ]);
    expect((await service().execute(cmd.view('/memories/never'), { tenant })).is_error).toBe(true);
  });
});

describeService('the Accept-Language header', (service) => {
  const DIRECTORIES = {
    en: "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
    es: 'Aquí están los archivos y directorios hasta 2 niveles de profundidad en /memories, excluyendo elementos ocultos y node_modules:',
    it: 'Ecco i file e le directory fino a 2 livelli di profondità in /memories, escludendo elementi nascosti e node_modules:',
    fr: "Voici les fichiers et répertoires jusqu'à 2 niveaux de profondeur dans /memories, excluant les éléments cachés et node_modules :",
  };
  const FILES = {
    en: "Here's the content of /memories/f with line numbers:",
    es: 'Aquí está el contenido de /memories/f con números de línea:',
    it: 'Ecco il contenuto di /memories/f con numeri di riga:',
    fr: 'Voici le contenu de /memories/f avec les numéros de ligne :',
  };
  it.each([
    ['es', 'es'],
    ['es-MX,es;q=0.9', 'es'],
    ['it', 'it'],
    ['fr-FR', 'fr'],
    ['pt', 'en'],
    ['pt, fr;q=0.5', 'fr'],
    ['en, es', 'en'],
    ['de', 'en'],
    ['*', 'en'],
    ['', 'en'],
  ] as const)(
    'returns for Accept-Language %s view headings in %s and errors in English',
    async (given, language) => {
      const tenant = freshTenant();
      const headers = { 'accept-language': given };
      await service().execute(cmd.create('/memories/f', 'x'), { tenant });
      const directory = await service().execute(cmd.view('/memories'), { tenant, headers });
      const file = await service().execute(cmd.view('/memories/f'), { tenant, headers });
      const missing = await service().execute(cmd.view('/memories/g'), { tenant, headers });
      expect(directory.content).toBe(`${DIRECTORIES[language]}\n4.0K\t/memories\n1B\t/memories/f`);
      expect(file.content).toBe(`${FILES[language]}\n     1\tx`);
      expect(missing.content).toBe('The path /memories/g does not exist. Please provide a valid path.');
    },
  );
});
