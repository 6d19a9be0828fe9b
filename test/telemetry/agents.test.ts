import { describe, expect, it } from 'vitest';
import { BATCH_CONNECTIONS } from '../../src/core/database/pg.ts';
import { type Span, showTree } from '../support/otlp-collector.ts';
import { post, startCli, startProcess } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import {
  connectTo,
  copyPgliteTemplate,
  createTestDatabase,
  isCitus,
  lockWait,
  skipOnCitus,
} from '../support/test-database.ts';
import { CALLER, SERVER, TRACE, traceparent, useTracedServers } from '../support/traced.ts';

const CLIENT = 3;
const ERROR = 2;
/** There are no batches on Citus. */
const FIND_RECORD = `      ${isCitus() ? 'find_record' : 'find_records'}`;

const { databaseUrl, startTraced } = useTracedServers();

const toolUse = (id: string, input: object) => ({ type: 'tool_use', id, name: 'memory', input });
/**
 * Creates a tenant with its first write. The second write caches the tenant, so that later writes need one statement.
 */
async function makeTenant(url: string, tenant: string): Promise<void> {
  for (const path of ['/memories/first', '/memories/second'])
    await post(url, cmd.create(path, 'x'), { 'x-tenant-id': tenant });
}
const findSpans = (spans: Span[], name: string) => spans.filter((span) => span.name === name);

describe.each(['postgres', 'pglite'])('a traced request on %s', (kind) => {
  const tags = kind === 'pglite' ? 'long' : [];
  it("adds spans for the tool, the memory operation, and the statement to the caller's trace", {
    tags,
  }, async () => {
    const backend = kind === 'postgres' ? {} : { DATABASE_URL: '', DATA_DIR: await copyPgliteTemplate() };
    const server = await startTraced({
      ...backend,
      OTEL_SERVICE_NAME: 'agent-memory',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=abc',
    });
    await makeTenant(server.url, 'acme');
    const create = toolUse('toolu_1', cmd.create('/memories/private-path', 'private-content'));
    await post(server.url, create, { ...traceparent(), 'x-tenant-id': 'acme', 'x-request-id': 'traced-1' });
    const { log, spans: all } = await server.stop();
    const spans = all.filter(({ traceId }) => traceId === TRACE);

    expect(server.collector.received.map(({ path }) => path)).toStrictEqual(['/v1/traces']);
    expect(server.collector.received[0]?.headers).toMatchObject({ 'x-collector-key': 'abc' });
    expect(server.collector.resource()).toMatchObject({
      'service.name': 'agent-memory',
      'deployment.environment.name': 'test',
    });
    expect(showTree(spans, CALLER)).toStrictEqual([
      'POST /execute',
      '  execute_tool memory',
      '    create_memory',
      '      memory_create',
      FIND_RECORD,
    ]);
    const [request, tool, operation, statement] = [
      'POST /execute',
      'execute_tool memory',
      'create_memory',
      'memory_create',
    ].map((name) => findSpans(spans, name)[0]);
    expect(request?.kind).toBe(SERVER);
    expect(request?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/execute',
      'http.response.status_code': 200,
      'http.response.header.x-request-id': ['traced-1'],
      'gen_ai.memory.store.id': 'acme',
    });
    expect(tool?.attributes).toStrictEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'memory',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': 'toolu_1',
      'gen_ai.memory.store.id': 'acme',
      'memory_service.command': 'create',
    });
    expect(operation?.attributes).toStrictEqual({
      'gen_ai.operation.name': 'create_memory',
      'gen_ai.memory.store.id': 'acme',
      'gen_ai.memory.record.id': expect.stringMatching(/^mem_[0-9a-f]{32}$/),
      'gen_ai.memory.record.count': 1,
    });
    expect(statement?.kind).toBe(CLIENT);
    expect(statement?.attributes).toMatchObject({
      'db.system.name': 'postgresql',
      'db.query.summary': 'memory_create',
    });
    expect('server.address' in (statement?.attributes ?? {})).toBe(kind === 'postgres');
    const line = JSON.parse(log.split('\n').find((each) => each.includes('"reqId":"traced-1"')) ?? '');
    expect(line).toMatchObject({ trace_id: TRACE, tenant: 'acme', command: 'create' });
  });
});

it('traces a call over MCP with the same spans and log line as on /execute', { tags: 'long' }, async () => {
  const server = await startTraced();
  await makeTenant(server.url, 'mcp');
  const input = cmd.create('/memories/private-path', 'private-content');
  const params = { name: 'memory', arguments: input };
  const send = (message: object, requestId: string) =>
    fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-tenant-id': 'mcp',
        'x-request-id': requestId,
        ...traceparent(),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
    });
  expect((await send({ method: 'tools/call', params }, 'mcp-1')).status).toBe(200);
  expect((await send({ method: 'private-method' }, 'mcp-2')).status).toBe(200);
  const other = '1'.repeat(32);
  const view = { name: 'memory', arguments: cmd.view('/memories'), _meta: traceparent(other) };
  expect((await send({ method: 'tools/call', params: view }, 'mcp-3')).status).toBe(200);
  const invalid = { ...view, _meta: { traceparent: 'nonsense' } };
  expect((await send({ method: 'tools/call', params: invalid }, 'mcp-4')).status).toBe(200);
  const { log, spans } = await server.stop();

  const [called] = findSpans(spans, 'POST /mcp');
  expect(called?.attributes).toMatchObject({ 'http.route': '/mcp', 'http.response.status_code': 200 });
  expect(
    showTree(
      spans.filter(({ traceId }) => traceId === TRACE),
      CALLER,
    ),
  ).toStrictEqual([
    'POST /mcp',
    '  execute_tool memory',
    '    create_memory',
    '      memory_create',
    FIND_RECORD,
    'POST /mcp',
    'POST /mcp',
    'POST /mcp',
    '  execute_tool memory',
    '    search_memory',
    '      lookup_batch',
  ]);
  // A call with a context in its metadata continues that trace, and links to its request.
  const traced = spans.filter(({ traceId }) => traceId === other);
  expect(showTree(traced, CALLER)).toStrictEqual([
    'execute_tool memory',
    '  search_memory',
    '    lookup_batch',
  ]);
  expect(findSpans(traced, 'execute_tool memory')[0]?.links).toMatchObject([{ traceId: TRACE }]);
  const findLogLine = (id: string) =>
    JSON.parse(log.split('\n').find((each) => each.includes(`"reqId":"${id}"`)) ?? '');
  const line = { trace_id: TRACE, route: '/mcp', status: 200, tenant: 'mcp' };
  expect(findLogLine('mcp-1')).toMatchObject({ ...line, command: 'create', outcome: 'ok' });
  expect(findLogLine('mcp-2')).toMatchObject({ ...line, command: 'unknown', outcome: 'ok' });
  expect(log + JSON.stringify(spans)).not.toMatch(/private/);
});

describe('the spans in a trace', { tags: 'long' }, () => {
  it('omits contents, paths, queries, and messages from the spans in a trace, even after a failure', async () => {
    const server = await startTraced();
    const send = (body: string, query = '') =>
      fetch(`${server.url}/execute${query}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...traceparent() },
        body,
      });
    const inputs = [
      cmd.create('/memories/private-path', 'private-content'),
      cmd.view('/memories/private-path'),
      cmd.view('/memories/private-missing'),
      {
        command: 'str_replace',
        path: '/memories/private-path',
        old_str: 'private-c',
        new_str: 'private-new',
      },
      { command: 'insert', path: '/memories/private-path', insert_line: 0, insert_text: 'private-line' },
      cmd.rename('/memories/private-path', '/memories/private-moved'),
      cmd.delete('/memories/private-moved'),
      { command: 'private-command' },
      cmd.create('/memories/private\0', 'private-nul'),
      { ...toolUse('toolu_search', { query: 'private-word' }), name: 'memory_search' },
    ];
    for (const input of inputs) await send(JSON.stringify(input));
    await send('{"command": private-broken', '?key=private-query');
    await send('["private-array"]');
    const { log, spans } = await server.stop();
    expect(spans.length).toBeGreaterThan(30);
    expect(server.collector.received.map(({ body }) => body).join()).not.toMatch(/private/);
    expect(log).not.toMatch(/private/);

    expect(
      findSpans(spans, 'execute_tool memory').map(({ attributes }) => attributes['error.type']),
    ).toStrictEqual([
      undefined,
      undefined,
      'tool_error',
      ...Array(4).fill(undefined),
      'tool_error',
      'tool_error',
    ]);
    expect(findSpans(spans, 'execute_tool memory_search').map(({ attributes }) => attributes)).toStrictEqual([
      {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'memory_search',
        'gen_ai.tool.type': 'function',
        'gen_ai.tool.call.id': 'toolu_search',
        'gen_ai.memory.store.id': 'default',
        'memory_service.command': 'memory_search',
      },
    ]);
    expect(log).toContain('"command":"memory_search"');
    const operations = spans.map(({ name }) => name).filter((name) => name.endsWith('_memory'));
    expect(operations).toStrictEqual([
      'create_memory',
      'search_memory',
      'search_memory',
      'update_memory',
      'update_memory',
      'update_memory',
      'delete_memory',
      'create_memory',
      'search_memory',
    ]);
    // A rejection is the caller's error.
    const requests = findSpans(spans, 'POST /execute');
    expect(requests.map(({ attributes }) => attributes['http.response.status_code'])).toStrictEqual([
      ...Array(10).fill(200),
      400,
      400,
    ]);
    expect(requests.filter(({ status }) => status.code === ERROR)).toStrictEqual([]);
  });

  it('names the span upsert_memory if a create may overwrite an existing file', async () => {
    const server = await startTraced({ CREATE_EXISTING: 'overwrite' });
    const create = cmd.create('/memories/upserted', 'x');
    for (let i = 0; i < 2; i++) {
      await post(server.url, create, { 'x-tenant-id': 'upserts', ...traceparent() });
    }
    const { spans } = await server.stop();
    const operations = spans.filter(({ name }) => name.endsWith('_memory'));
    expect(
      operations.map(({ name, attributes }) => [name, attributes['gen_ai.operation.name']]),
    ).toStrictEqual([
      ['upsert_memory', 'upsert_memory'],
      ['upsert_memory', 'upsert_memory'],
    ]);
  });

  it("adds the error's code to each span that ended with the error", async () => {
    // On Citus, the lock timeout does not apply to the workers, so the statement timeout ends the wait.
    const server = await startTraced(
      isCitus() ? { DB_STATEMENT_TIMEOUT_MS: '2000' } : { DB_LOCK_TIMEOUT_MS: '50' },
    );
    await post(server.url, cmd.create('/memories/before', 'x'), { 'x-tenant-id': 'locked' });
    const client = await connectTo(databaseUrl());
    await client.query('BEGIN');
    await client.query(`SELECT 1 FROM tenants WHERE id = 'locked' FOR UPDATE`);
    const create = cmd.create('/memories/private-path', 'private-content');
    const { status } = await post(server.url, create, { 'x-tenant-id': 'locked', ...traceparent() });
    await client.end();
    expect(status).toBe(503);
    const { spans } = await server.stop();
    const failed = spans.filter((span) => span.traceId === TRACE && span.status.code === ERROR);
    expect(failed.map(({ name, attributes }) => [name, attributes['error.type']])).toStrictEqual([
      ['memory_create', isCitus() ? '57014' : '55P03'],
      ['create_memory', 'database_busy'],
      ['execute_tool memory', 'database_busy'],
      ['POST /execute', 'database_busy'],
    ]);
    expect(spans.filter(({ status: { message } }) => message)).toStrictEqual([]);
  });
});

describe('a statement for several requests', { tags: 'long' }, () => {
  skipOnCitus('there are no batches on Citus');
  /** Waits until the server executes the given number of requests. */
  async function untilInFlight(url: string, count: number): Promise<void> {
    for (;;) {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      if (metrics.includes(`\nmemory_requests_in_flight ${count}\n`)) return;
    }
  }

  /*
   * `statements` counts the statements with which each request waits for the lock. When `most` statements wait, further
   * requests wait for the service: no connection for batches is free, or the tenant has a running statement.
   */
  it.each([
    [
      'views',
      'LOCK TABLE entries IN ACCESS EXCLUSIVE MODE',
      cmd.view,
      'lookup_files',
      { statements: 2, most: BATCH_CONNECTIONS },
    ],
    [
      'creates',
      `SELECT 1 FROM tenants WHERE id = 'default' FOR UPDATE`,
      (path: string) => cmd.create(path, 'x'),
      'memory_create_batch',
      { statements: 1, most: 1 },
    ],
  ])(
    'adds a batched statement to the trace for each request in the batch, with links: %s',
    async (label, lock, input, statement, { statements, most }) => {
      const database = await createTestDatabase();
      const server = await startTraced({ DATABASE_URL: database.url, DB_LOCK_TIMEOUT_MS: '0' });
      // The first call creates the tenant, and the second one finds it.
      for (const name of ['first', 'second']) await post(server.url, cmd.create(`/memories/${name}.md`, 'x'));
      const client = await connectTo(database.url);
      await client.query('BEGIN');
      await client.query(lock);
      const traces = [1, 2, 3].map((i) => `${i}`.repeat(32));
      // The first requests wait for the lock, and the others until another statement may run.
      const sent: Promise<unknown>[] = [];
      for (let waiting = statements; waiting <= most; waiting += statements) {
        sent.push(post(server.url, input(`/memories/waits-${label}-${waiting}.md`)));
        await lockWait(database.url, waiting);
      }
      const inFlight = sent.length + traces.length;
      for (const trace of traces) {
        sent.push(post(server.url, input(`/memories/${label}-${trace}.md`), traceparent(trace)));
      }
      await untilInFlight(server.url, inFlight);
      await client.query('COMMIT');
      await client.end();
      await Promise.all(sent);
      const { spans } = await server.stop();
      await database.drop();
      const commands = spans.filter(({ name }) => name === 'search_memory' || name === 'create_memory');
      const shared = findSpans(spans, statement).filter(
        ({ attributes }) => attributes['db.operation.batch.size'],
      );
      expect(shared.map(({ traceId }) => traceId).sort()).toStrictEqual(traces);
      for (const span of shared) {
        expect(span.attributes['db.operation.batch.size']).toBe(3);
        expect(span.links.map(({ traceId }) => traceId).sort()).toStrictEqual(
          traces.filter((trace) => trace !== span.traceId),
        );
        for (const { spanId } of span.links) expect(commands.map((each) => each.spanId)).toContain(spanId);
        const parent = commands.find((each) => each.spanId === span.parentSpanId);
        expect(parent?.traceId).toBe(span.traceId);
      }
    },
  );
});

describe('tracing', { tags: 'long' }, () => {
  it('records no traces for probes, metrics scrapes, documents, and unknown routes', async () => {
    const server = await startTraced();
    for (const path of ['/healthz', '/readyz', '/metrics', '/', '/openapi.json', '/missing']) {
      await fetch(server.url + path, { headers: traceparent() });
    }
    await server.stop();
    expect(server.collector.received).toStrictEqual([]);
  });

  it("follows the caller's sampling decision unless OTEL_TRACES_SAMPLER is set", async () => {
    const byCaller = await startTraced();
    const view = cmd.view('/memories');
    await post(byCaller.url, view, { ...traceparent(TRACE, '00'), 'x-request-id': 'unsampled' });
    await post(byCaller.url, view, { traceparent: 'nonsense' });
    // A header with the contexts from the caller and from an instrumented `fetch`.
    const other = '2'.repeat(32);
    const twice = `00-${other}-${'1'.repeat(16)}-01, ${traceparent(other).traceparent}`;
    await post(byCaller.url, view, { traceparent: twice });
    const { log, spans } = await byCaller.stop();
    expect(spans.map(({ traceId }) => traceId)).not.toContain(TRACE);
    const [unknown, continued, ...others] = findSpans(spans, 'POST /execute');
    expect(unknown?.parentSpanId).toBeUndefined();
    expect([continued?.traceId, continued?.parentSpanId]).toStrictEqual([other, CALLER]);
    expect(others).toStrictEqual([]);
    expect(log).toMatch(new RegExp(`"reqId":"unsampled".*"trace_id":"${TRACE}"`));

    const never = await startTraced({ OTEL_TRACES_SAMPLER: 'always_off' });
    await post(never.url, view, traceparent());
    await never.stop();
    expect(never.collector.received).toStrictEqual([]);
  });
});

describe('the metrics', { tags: 'long' }, () => {
  it('adds the trace ID to the metrics as an exemplar if the OpenMetrics format is requested', async () => {
    const server = await startTraced();
    await post(server.url, cmd.view('/memories'), traceparent());
    await post(server.url, cmd.delete('/memories/missing'), traceparent(TRACE, '00'));
    const scrape = async (accept: string) => {
      const response = await fetch(`${server.url}/metrics`, { headers: { accept } });
      return { type: response.headers.get('content-type'), text: await response.text() };
    };
    const prometheus =
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.1';
    const { type, text } = await scrape(prometheus);
    expect(type).toContain('application/openmetrics-text');
    expect(text).toMatch(/\n# EOF\n$/);
    const exemplars = text.split('\n').filter((line) => line.includes(' # {'));
    expect(exemplars).toStrictEqual([
      expect.stringMatching(
        new RegExp(
          `^memory_command_duration_seconds_bucket\\{le=".*",command="view"\\} 1 # \\{trace_id="${TRACE}",span_id="[0-9a-f]{16}"\\}`,
        ),
      ),
    ]);
    expect(text).toContain('\nmemory_commands_total{command="view",outcome="ok"} 1\n');

    const plain = await scrape('*/*');
    expect(plain.type).toContain('text/plain; version=0.0.4');
    expect(plain.text).toContain('\nmemory_commands_total{command="view",outcome="ok"} 1\n');
    expect(plain.text).not.toContain(TRACE);
    await server.stop();
  });
});

describe('a trace collector', { tags: 'long' }, () => {
  it('sends protobuf to a trace collector by default', async () => {
    const server = await startTraced({ OTEL_EXPORTER_OTLP_PROTOCOL: '' });
    await post(server.url, cmd.view('/memories'));
    server.child.kill('SIGTERM');
    expect(await server.exit).toBe(0);
    expect(server.collector.received[0]?.headers['content-type']).toBe('application/x-protobuf');
    expect(server.collector.received[0]?.body).toContain('execute_tool memory');
  });

  it('logs one warning when a trace collector fails and one message when it recovers', async () => {
    const server = await startTraced({ OTEL_BSP_SCHEDULE_DELAY: '20' });
    server.collector.answer = 400;
    const failing = server.line(/the collector takes no traces/);
    await post(server.url, cmd.view('/memories'));
    await failing;
    const before = server.collector.received.length;
    while (server.collector.received.length < before + 3) {
      expect((await post(server.url, cmd.view('/memories'))).status).toBe(200);
    }
    server.collector.answer = 200;
    await post(server.url, cmd.view('/memories'));
    await server.line(/the collector takes traces again/);
    const { log } = await server.stop();
    const lines = log.split('\n').filter((line) => line.includes('the collector'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', collector: server.collector.url, reason: 400 },
      { level: 'info', collector: server.collector.url },
    ]);
  });

  it.each(['rejects connections', 'rejects spans', 'hangs'])(
    'serves requests and shuts down without delay while a trace collector %s',
    async (how) => {
      const server = await startTraced(
        how === 'rejects connections'
          ? { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://user:private@127.0.0.1:1' }
          : {},
      );
      server.collector.answer = how === 'hangs' ? 'hang' : 401;
      for (let i = 0; i < 5; i++) expect((await post(server.url, cmd.view('/memories'))).status).toBe(200);
      const { log } = await server.stop();
      expect(log).toContain('"msg":"stopped"');
      expect(log).not.toContain('private');
    },
  );

  it('rejects an OTLP endpoint or protocol that is not HTTP', async () => {
    const cli = startCli(['serve'], {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    });
    expect(await cli.exit).toBe(1);
    expect(cli.output()).toBe(
      [
        'memory-service: The configuration is not valid:',
        '  OTEL_EXPORTER_OTLP_ENDPOINT must be an http(s) URL',
        '  OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf or http/json: gRPC is not supported',
      ].join('\n'),
    );
  });
});

describe('the loaded OpenTelemetry packages', { tags: 'long' }, () => {
  /** Prints the OpenTelemetry modules that a process has loaded when it exits. */
  const LIST = `data:text/javascript,${encodeURIComponent(`
    import { writeSync } from 'node:fs';
    import { createRequire } from 'node:module';
    const { cache } = createRequire('file:///');
    process.on('exit', () => {
      const packages = Object.keys(cache).map((file) => /node_modules\\/(@[^/]*(?:opentelemetry|otel)[^/]*\\/[^/]+)/.exec(file)?.[1]);
      writeSync(1, 'loaded: ' + [...new Set(packages)].filter(Boolean).sort().join(' ') + '\\n');
    });`)}`;

  async function loadedModules(env: Record<string, string>): Promise<string[]> {
    const args = ['--import', LIST, 'dist/main.js', 'serve'];
    const settings = { PORT: '0', AUTH: 'none', DATABASE_URL: databaseUrl() };
    const server = startProcess(process.execPath, args, { ...settings, ...env });
    const [, url] = await server.line(/(http:\/\/127\.0\.0\.1:\d+)/);
    await post(url ?? '', cmd.view('/memories'), { ...traceparent(), 'x-request-id': 'off' });
    server.child.kill('SIGTERM');
    await server.exit;
    expect(server.output().includes('"trace_id"')).toBe(Object.keys(env).length === 1);
    const [, packages = ''] = /loaded: (.*)/.exec(server.output()) ?? [];
    return packages.split(' ');
  }

  it('loads no OpenTelemetry package except the API if no trace collector is set', async () => {
    expect(await loadedModules({})).toStrictEqual(['@opentelemetry/api']);
    expect(
      await loadedModules({ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://[::1]:1' }),
    ).toStrictEqual(['@opentelemetry/api']);
  });

  it('loads the OpenTelemetry packages for tracing if a trace collector is set', async () => {
    expect(await loadedModules({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })).toEqual(
      expect.arrayContaining([
        '@opentelemetry/api',
        '@opentelemetry/sdk-trace-base',
        '@opentelemetry/exporter-trace-otlp-proto',
      ]),
    );
  });
});
