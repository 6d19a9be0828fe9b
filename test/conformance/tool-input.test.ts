import type { InjectOptions } from 'fastify';
import { describe, expect, it } from 'vitest';
import { cmd, error, ok, script } from '../support/step-table.ts';
import { describeService, freshTenant } from '../support/test-service.ts';

describeService('an invalid input that a model can correct', (service) => {
  script(service, 'rejects unknown commands', {}, [
    [
      { command: 'undo' },
      error(
        'Error: Unknown command: undo. The commands are view, create, str_replace, insert, delete, rename',
      ),
    ],
    [
      { command: '' },
      error('Error: Unknown command: . The commands are view, create, str_replace, insert, delete, rename'),
    ],
    [
      { command: 'VIEW', path: '/memories' },
      error(
        'Error: Unknown command: VIEW. The commands are view, create, str_replace, insert, delete, rename',
      ),
    ],
    [
      { command: 7 },
      error('Error: Unknown command: 7. The commands are view, create, str_replace, insert, delete, rename'),
    ],
    [
      { command: 'constructor' },
      error(
        'Error: Unknown command: constructor. The commands are view, create, str_replace, insert, delete, rename',
      ),
    ],
    [{ command: null }, error('Error: Invalid input for memory: `command` is missing')],
  ]);
  script(service, 'rejects missing and mistyped fields', { '/memories/f': 'x' }, [
    [{ command: 'view' }, error('Error: Invalid input for view: `path` is missing')],
    [{ command: 'view', path: 7 }, error('Error: Invalid input for view: `path` must be a string')],
    [{ command: 'view', path: null }, error('Error: Invalid input for view: `path` must be a string')],
    [
      { command: 'view', path: ['/memories'] },
      error('Error: Invalid input for view: `path` must be a string'),
    ],
    [
      { command: 'view', path: '/memories/f', view_range: 1 },
      error('Error: Invalid input for view: `view_range` must be an array of two integers'),
    ],
    [
      { command: 'view', path: '/memories/f', view_range: [1] },
      error('Error: Invalid input for view: `view_range` must be an array of two integers'),
    ],
    [
      { command: 'view', path: '/memories/f', view_range: [1, 2, 3] },
      error('Error: Invalid input for view: `view_range` must be an array of two integers'),
    ],
    [
      { command: 'view', path: '/memories/f', view_range: [1, '2'] },
      error('Error: Invalid input for view: `view_range` must be an array of two integers'),
    ],
    [
      { command: 'view', path: '/memories/f', view_range: [1.5, 2] },
      error('Error: Invalid input for view: `view_range` must be an array of two integers'),
    ],
    [
      { command: 'create', path: '/memories/g' },
      error('Error: Invalid input for create: `file_text` is missing'),
    ],
    [{ command: 'create', file_text: 'x' }, error('Error: Invalid input for create: `path` is missing')],
    [
      { command: 'create', path: '/memories/g', file_text: {} },
      error('Error: Invalid input for create: `file_text` must be a string'),
    ],
    [
      { command: 'str_replace', path: '/memories/f' },
      error('Error: Invalid input for str_replace: `old_str` is missing'),
    ],
    [
      { command: 'str_replace', path: '/memories/f', old_str: 'x', new_str: 1 },
      error('Error: Invalid input for str_replace: `new_str` must be a string'),
    ],
    [
      { command: 'insert', path: '/memories/f', insert_text: 'x' },
      error('Error: Invalid input for insert: `insert_line` is missing'),
    ],
    [
      { command: 'insert', path: '/memories/f', insert_line: '1', insert_text: 'x' },
      error('Error: Invalid input for insert: `insert_line` must be an integer'),
    ],
    [
      { command: 'insert', path: '/memories/f', insert_line: 0.5, insert_text: 'x' },
      error('Error: Invalid input for insert: `insert_line` must be an integer'),
    ],
    [
      { command: 'insert', path: '/memories/f', insert_line: 0 },
      error('Error: Invalid input for insert: `insert_text` is missing'),
    ],
    [{ command: 'delete' }, error('Error: Invalid input for delete: `path` is missing')],
    [
      { command: 'rename', old_path: '/memories/f' },
      error('Error: Invalid input for rename: `new_path` is missing'),
    ],
    [
      { command: 'rename', new_path: '/memories/f' },
      error('Error: Invalid input for rename: `old_path` is missing'),
    ],
  ]);
  script(
    service,
    'rejects text that cannot be stored, names the field, and makes no change',
    { '/memories/f': 'x' },
    [
      [
        cmd.create('/memories/g', 'a\0b'),
        error(
          'Error: Invalid input for create: `file_text` contains a NUL character (U+0000), which cannot be stored',
        ),
      ],
      [
        cmd.create('/memories/g', 'a\ud83d'),
        error(
          'Error: Invalid input for create: `file_text` contains a lone surrogate (U+D83D), which is not valid Unicode',
        ),
      ],
      [
        cmd.replace('/memories/f', 'x', '\0'),
        error(
          'Error: Invalid input for str_replace: `new_str` contains a NUL character (U+0000), which cannot be stored',
        ),
      ],
      [
        cmd.replace('/memories/f', '\udc00', 'y'),
        error(
          'Error: Invalid input for str_replace: `old_str` contains a lone surrogate (U+DC00), which is not valid Unicode',
        ),
      ],
      [
        cmd.insert('/memories/f', 0, '\0'),
        error(
          'Error: Invalid input for insert: `insert_text` contains a NUL character (U+0000), which cannot be stored',
        ),
      ],
      [cmd.view('/memories/g'), error('The path /memories/g does not exist. Please provide a valid path.')],
      [cmd.view('/memories/f'), ok("Here's the content of /memories/f with line numbers:\n     1\tx")],
    ],
  );
  script(
    service,
    'ignores unknown fields and treats a null optional field as absent',
    { '/memories/f': 'x' },
    [
      [
        { command: 'view', path: '/memories/f', view_range: null, depth: 3, constructor: 1 },
        ok("Here's the content of /memories/f with line numbers:\n     1\tx"),
      ],
    ],
  );
  script(service, 'keeps control characters and astral characters', {}, [
    [
      cmd.create('/memories/g', '\u0001\u007f\u{1f600}\ufffe'),
      ok('File created successfully at: /memories/g'),
    ],
    [
      cmd.view('/memories/g'),
      ok("Here's the content of /memories/g with line numbers:\n     1\t\u0001\u007f\u{1f600}\ufffe"),
    ],
  ]);
});

describeService(
  'MAX_FILE_BYTES',
  (service) => {
    script(
      service,
      'rejects an oversized file from any command and makes no change',
      { '/memories/f': '123456789' },
      [
        [
          cmd.create('/memories/g', 'éééééx'),
          error('Error: File /memories/g exceeds the maximum memory file size of 10 bytes'),
        ],
        [
          cmd.create('/memories/f', '12345678901'),
          error('Error: File /memories/f exceeds the maximum memory file size of 10 bytes'),
        ],
        [
          cmd.replace('/memories/f', '9', '9ab'),
          error('Error: File /memories/f exceeds the maximum memory file size of 10 bytes'),
        ],
        [
          cmd.insert('/memories/f', 1, 'x'),
          error('Error: File /memories/f exceeds the maximum memory file size of 10 bytes'),
        ],
        [cmd.insert('/memories/f', 1, ''), ok('The file /memories/f has been edited.')],
        [
          cmd.view('/memories/f'),
          ok("Here's the content of /memories/f with line numbers:\n     1\t123456789\n     2\t"),
        ],
        [cmd.create('/memories/g', 'ééééé'), ok('File created successfully at: /memories/g')],
      ],
    );
  },
  { MAX_FILE_BYTES: '10' },
);

describeService('the response to POST /execute', (service) => {
  const problem = (status: number, code: string, detail: string) => ({ status, code, detail });
  const cases: [title: string, body: unknown, headers: Record<string, string>, expected: object][] = [
    [
      'a body that is not JSON',
      '{"command":',
      {},
      problem(400, 'invalid_json', 'The body is not valid JSON.'),
    ],
    ['an empty body', '', {}, problem(400, 'invalid_json', 'The body is empty; send a JSON object.')],
    [
      'invalid UTF-8',
      Buffer.from([0x22, 0xff, 0x22]),
      {},
      problem(400, 'invalid_utf8', 'The body is not valid UTF-8.'),
    ],
    [
      'an array',
      [],
      {},
      problem(
        400,
        'not_a_memory_input',
        'The body is not a memory tool input: the array holds 0 tool_use blocks, and 1 to 32 are allowed. Send {"command": "view", "path": "/memories"} or a whole tool_use block.',
      ),
    ],
    [
      'null',
      'null',
      {},
      problem(
        400,
        'not_a_memory_input',
        'The body is not a memory tool input: it is not a JSON object. Send {"command": "view", "path": "/memories"} or a whole tool_use block.',
      ),
    ],
    [
      'no command',
      { path: '/memories' },
      {},
      problem(
        400,
        'not_a_memory_input',
        'The body is not a memory tool input: it has no `command`. Send {"command": "view", "path": "/memories"} or a whole tool_use block.',
      ),
    ],
    [
      'a block without an ID',
      { type: 'tool_use', name: 'memory', input: {} },
      {},
      problem(
        400,
        'not_a_memory_input',
        'The body is not a memory tool input: the tool_use block has no `id`. Send {"command": "view", "path": "/memories"} or a whole tool_use block.',
      ),
    ],
    [
      'an unsupported media type',
      'command=view',
      { 'content-type': 'application/x-www-form-urlencoded' },
      problem(415, 'unsupported_media_type', 'Send the body as Content-Type: application/json.'),
    ],
    [
      'an unsupported charset',
      '{}',
      { 'content-type': 'application/json; charset=latin1' },
      problem(415, 'unsupported_charset', 'Send the body as UTF-8, with charset=utf-8 or without a charset.'),
    ],
    [
      'a compressed body',
      '{}',
      { 'content-encoding': 'gzip' },
      problem(
        415,
        'unsupported_content_encoding',
        'Content-Encoding is not supported: send the body uncompressed.',
      ),
    ],
    [
      'an invalid tenant ID',
      { command: 'view', path: '/memories' },
      { 'x-tenant-id': 'a/b' },
      problem(400, 'invalid_tenant', 'X-Tenant-Id must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -'),
    ],
    [
      'a tenant ID that is too long',
      { command: 'view', path: '/memories' },
      { 'x-tenant-id': 'a'.repeat(129) },
      problem(400, 'invalid_tenant', 'X-Tenant-Id must be 1 to 128 of the characters A-Z a-z 0-9 . _ : @ -'),
    ],
    [
      'a body over the limit',
      `{"command":"view","path":"${'x'.repeat(6_400_000)}"}`,
      {},
      problem(
        413,
        'body_too_large',
        'The body is larger than 6356992 bytes, the limit of this service (MAX_BODY_BYTES).',
      ),
    ],
  ];
  it.each(cases)('returns a problem from POST /execute: %s', async (_title, body, headers, expected) => {
    const answer = await service().execute(body, { headers: { 'x-request-id': 'req-1', ...headers } });
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(answer.headers['x-request-id']).toBe('req-1');
    expect(answer.body).toMatchObject({ ...expected, type: 'about:blank', request_id: 'req-1' });
    expect(answer.status).toBe(answer.body.status);
  });

  it('returns a problem on an unknown route', async () => {
    const answer = await service().app.inject({ method: 'GET', url: '/memories' });
    expect(answer.statusCode).toBe(404);
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(answer.json()).toMatchObject({ status: 404, code: 'route_not_found', title: 'Not Found' });
  });

  const deep = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
  const view = { command: 'view', path: '/memories' };
  const invalidBlocks: [title: string, block: object, content: string][] = [
    ['no command', { input: {} }, 'Error: Invalid input for memory: `command` is missing'],
    ['no input', {}, 'Error: Invalid input for memory: `input` is missing'],
    ['null as input', { input: null }, 'Error: Invalid input for memory: `input` must be an object'],
    ['a string as input', { input: 'view' }, 'Error: Invalid input for memory: `input` must be an object'],
    ['a number as input', { input: 7 }, 'Error: Invalid input for memory: `input` must be an object'],
    ['an array as input', { input: [view] }, 'Error: Invalid input for memory: `input` must be an object'],
    [
      'a string as input of memory_search',
      { name: 'memory_search', input: 'tea' },
      'Error: Invalid input for memory_search: `input` must be an object',
    ],
    [
      'the name of another tool',
      { name: 'bash', input: view },
      'Error: Unknown tool: bash. The tools are memory, memory_search',
    ],
    ['no name', { name: undefined, input: view }, 'Error: Invalid input for tool_use: `name` is missing'],
    ['null as name', { name: null, input: view }, 'Error: Invalid input for tool_use: `name` is missing'],
    [
      'a name that is not a string',
      { name: 7 },
      'Error: Invalid input for tool_use: `name` must be a string',
    ],
    [
      'a lone surrogate in its id',
      { id: 'toolu_\ud83d', input: view },
      'Error: Invalid input for memory: `id` contains a lone surrogate (U+D83D), which is not valid Unicode',
    ],
    [
      'a lone surrogate in a text',
      { input: { command: 'create', path: '/memories/never', file_text: '\ud83d' } },
      'Error: Invalid input for create: `file_text` contains a lone surrogate (U+D83D), which is not valid Unicode',
    ],
    [
      'arrays that nest too deeply',
      { input: { ...view, view_range: deep(40) } },
      'Error: This call was not run: with its tool_use block, the request nests arrays and objects deeper than 32 levels.',
    ],
    [
      'too many fields',
      { input: { ...view, extra: Array(5000).fill(0) } },
      'Error: This call was not run: with its tool_use block, the request has more than 4096 fields and array items.',
    ],
  ];
  describe.each(invalidBlocks)('a block with %s', (_title, fields, content) => {
    const block = { type: 'tool_use', id: 'toolu_2', name: 'memory', ...fields };
    const result = { type: 'tool_result', tool_use_id: block.id, content, is_error: true };

    it('returns an error result that explains the mistake', async () => {
      const answer = await service().execute(block, { tenant: freshTenant() });
      expect([answer.status, answer.body]).toStrictEqual([200, result]);
    });

    it('returns the results for the other blocks if one block has an error', async () => {
      const tenant = freshTenant();
      const others = [1, 3].map((n) => ({
        type: 'tool_use',
        id: `toolu_${n}`,
        name: 'memory',
        input: cmd.create(`/memories/${n}`, 'x'),
      }));
      const answer = await service().execute([others[0], block, others[1]], { tenant });
      expect([answer.status, answer.body]).toStrictEqual([
        200,
        [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_1',
            content: 'File created successfully at: /memories/1',
            is_error: false,
          },
          result,
          {
            type: 'tool_result',
            tool_use_id: 'toolu_3',
            content: 'File created successfully at: /memories/3',
            is_error: false,
          },
        ],
      ]);
    });
  });

  it.each([
    ['text/plain', true],
    ['text/plain;q=0.9, application/json;q=0.1', true],
    ['text/*', true],
    ['application/json', false],
    ['*/*', false],
    ['image/png', false],
    ['text/plain;q=0, */*', false],
    ['text/plain, application/json', false],
    ['text/plain, application/json, application/*+json, */*', false],
    ['application/json; charset=utf-8, text/plain', false],
    ['text/plain; charset=utf-8', true],
  ])(
    'returns an error result in the format that the caller requests with Accept: %s',
    async (accept, plain) => {
      const tenant = freshTenant();
      const { headers, body } = await service().execute(cmd.view('/memories/é'), {
        tenant,
        headers: { accept },
      });
      const content = 'The path /memories/é does not exist. Please provide a valid path.';
      expect(headers['content-type']).toBe(
        plain ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8',
      );
      expect(headers['x-memory-is-error']).toBe(plain ? 'true' : undefined);
      expect(body).toStrictEqual(plain ? content : { content, is_error: true });
    },
  );

  it.each<InjectOptions>([
    { method: 'POST', url: '/execute', payload: { command: 'view', path: '/memories' } },
    { method: 'POST', url: '/search', payload: { query: 'tea' } },
    { method: 'GET', url: '/instructions' },
  ])('returns JSON if the caller accepts JSON and text with equal quality: $method $url', async (request) => {
    const send = async (accept: string) => {
      const headers = { accept, 'x-tenant-id': freshTenant() };
      const { statusCode, headers: sent } = await service().app.inject({ ...request, headers });
      return [statusCode, sent['content-type']];
    };
    expect(await send('text/plain, application/json, */*')).toStrictEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    expect(await send('text/plain, */*;q=0.1')).toStrictEqual([200, 'text/plain; charset=utf-8']);
  });

  it('returns a success as text/plain if the caller requests it', async () => {
    const { headers, body } = await service().execute(cmd.create('/memories/a'), {
      tenant: freshTenant(),
      headers: { accept: 'text/plain' },
    });
    expect(headers['x-memory-is-error']).toBe('false');
    expect(body).toBe('File created successfully at: /memories/a');
  });

  it('returns a new request ID if the given one is invalid', async () => {
    const { headers } = await service().execute(cmd.view('/memories'), {
      headers: { 'x-request-id': 'a b' },
    });
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('uses the tenant `default` if X-Tenant-Id is missing, and separates it from other tenants', async () => {
    const plain = await service().execute(cmd.create('/memories/shared', 'x'));
    const named = await service().execute(cmd.view('/memories/shared'), { tenant: 'default' });
    const other = await service().execute(cmd.view('/memories/shared'), { tenant: 'Default' });
    expect([plain.is_error, named.is_error, other.is_error]).toStrictEqual([false, false, true]);
  });

  it('ignores input keys that could pollute a prototype', async () => {
    const body =
      '{"command":"view","path":"/memories","__proto__":{"path":"/x"},"constructor":{"prototype":{}}}';
    const answer = await service().execute(body, { tenant: freshTenant() });
    expect(answer.is_error).toBe(false);
  });
});
