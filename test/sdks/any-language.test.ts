/**
 * The programs without a client package (examples/any-language), each with the real service behind a proxy that loses
 * responses.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer, text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it, onTestFinished, type TestContext } from 'vitest';
import { useAgentFixture } from '../client/agent-fixture.ts';

const fixture = useAgentFixture();
const directory = fileURLToPath(new URL('../../examples/any-language', import.meta.url));

interface Language {
  name: string;
  /** Required programs. The test is skipped and names the first missing one. */
  needs: string[];
  /** Compiles the program into a directory and returns its command. */
  build(output: string): string[];
}

function run(command: string, args: string[]): void {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`);
}

const LANGUAGES: Language[] = [
  {
    name: 'Go',
    needs: ['go'],
    build: (output) => {
      const program = join(output, 'executor');
      run('go', ['vet', join(directory, 'go/main.go')]);
      run('go', ['build', '-o', program, join(directory, 'go/main.go')]);
      return [program];
    },
  },
  {
    name: 'Java',
    needs: ['javac', 'java'],
    build: (output) => {
      const source = join(directory, 'java/MemoryExecutor.java');
      run('javac', ['--release', '11', '-Xlint:all,-serial', '-Werror', '-d', output, source]);
      return ['java', '-cp', output, 'MemoryExecutor'];
    },
  },
  {
    name: 'C# with .NET',
    needs: ['dotnet'],
    build: (output) => {
      run('dotnet', ['build', '--nologo', '-o', output, join(directory, 'csharp/MemoryExecutor.csproj')]);
      return ['dotnet', join(output, 'MemoryExecutor.dll')];
    },
  },
  {
    name: 'C# with Mono',
    needs: ['mcs', 'mono'],
    build: (output) => {
      const program = join(output, 'executor.exe');
      const source = join(directory, 'csharp/MemoryExecutor.cs');
      run('mcs', ['-langversion:7.2', '-warnaserror', '-r:System.Net.Http.dll', `-out:${program}`, source]);
      return ['mono', program];
    },
  },
  { name: 'Ruby', needs: ['ruby'], build: () => ['ruby', '-w', join(directory, 'ruby/memory_executor.rb')] },
  { name: 'shell', needs: ['curl', 'awk'], build: () => ['sh', join(directory, 'shell/memory-executor.sh')] },
];

const isMissing = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0;

/** A request's path: the request passes, its response is lost, or the proxy responds. */
type Step = 'pass' | 'lose' | { status: number; retryAfter?: string };

/** Starts a proxy that performs the steps one by one and then passes all requests. */
async function proxy(steps: Step[]): Promise<{ url: string; bodies: string[] }> {
  const bodies: string[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await buffer(request);
    bodies.push(body.toString());
    const step = steps[bodies.length - 1] ?? 'pass';
    if (typeof step === 'object') {
      response.writeHead(
        step.status,
        step.retryAfter === undefined ? {} : { 'Retry-After': step.retryAfter },
      );
      return response.end('<html>');
    }
    const { 'content-type': type, authorization, 'x-tenant-id': tenant } = request.headers;
    const headers = {
      'content-type': `${type}`,
      ...(authorization && { authorization }),
      ...(tenant && { 'x-tenant-id': `${tenant}` }),
    };
    const answer = await fetch(`${fixture.url}${request.url}`, { method: 'POST', headers, body });
    const answered = await answer.text();
    if (step === 'lose') return request.socket.destroy();
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? '' });
    return response.end(answered);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => request.socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}

const use = (id: string, input: object) => ({ type: 'tool_use', id, name: 'memory', input });
const result = (id: string, content: string, is_error = false) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  is_error,
});

const path = '/memories/user.md';
const CREATE = use('toolu_1', { command: 'create', path, file_text: 'Lives in Lyon – 里昂.\n' });
const CREATED = result('toolu_1', 'File created successfully at: /memories/user.md');
const VIEW = use('toolu_2', { command: 'view', path });
const VIEWED = result(
  'toolu_2',
  "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon – 里昂.\n     2\t",
);

describe.each(LANGUAGES)('$name', ({ name, needs, build }) => {
  let built: Promise<string[]> | undefined;
  /** Runs the program with lines as its input. */
  async function execute(context: TestContext, lines: object[], env: Record<string, string>) {
    const missing = needs.find(isMissing);
    if (missing !== undefined) {
      console.info(`${name} skipped: no ${missing}`);
      context.skip(`skipped: no ${missing}`);
    }
    built ??= mkdtemp(join(inject('scratch'), 'any-language-')).then(build);
    const [command = '', ...args] = await built;
    const { PATH = '', HOME = '/tmp' } = process.env;
    const cwd = await mkdtemp(join(inject('scratch'), 'any-language-cwd-'));
    // A proxy that this machine is configured to use would intercept the request.
    const child = spawn(command, args, {
      cwd,
      env: { PATH, HOME, LANG: 'C.UTF-8', no_proxy: '*', ...env },
    });
    child.stdin.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const [out, err, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    expect(await readdir(cwd)).toStrictEqual([]);
    return {
      status,
      err,
      results: out
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    };
  }

  it('returns the result for a block, and all results for an array of blocks', async (context) => {
    const { url } = await proxy([]);
    const env = { MEMORY_SERVICE_URL: `${url}/`, MEMORY_SERVICE_API_KEY: await fixture.tenantKey() };
    const again = use('toolu_3', CREATE.input);
    expect(await execute(context, [CREATE, [VIEW, again]], env)).toStrictEqual({
      status: 0,
      err: '',
      results: [CREATED, [VIEWED, result('toolu_3', 'Error: File /memories/user.md already exists', true)]],
    });
  });

  it('applies a write only once if a response is lost or a gateway fails', async (context) => {
    const { url, bodies } = await proxy([
      'lose',
      { status: 502 },
      { status: 503, retryAfter: '1' },
      { status: 429 },
      'pass',
    ]);
    const env = { MEMORY_SERVICE_URL: url, MEMORY_SERVICE_API_KEY: await fixture.tenantKey() };
    const insert = use('toolu_4', { command: 'insert', path, insert_line: 1, insert_text: 'Likes tea.' });
    expect(await execute(context, [CREATE, VIEW, insert], env)).toStrictEqual({
      status: 0,
      err: '',
      results: [CREATED, VIEWED, result('toolu_4', 'The file /memories/user.md has been edited.')],
    });
    expect(bodies.slice(0, 5)).toStrictEqual(Array.from({ length: 5 }, () => JSON.stringify(CREATE)));
    expect(bodies).toHaveLength(7);
  });

  it('sends the tenant ID together with a service key', async (context) => {
    const { url } = await proxy([]);
    const env = {
      MEMORY_SERVICE_API_KEY: fixture.serviceKey,
      MEMORY_SERVICE_TENANT: `any-language-${name.length}`,
    };
    const { status, results } = await execute(context, [VIEW], { MEMORY_SERVICE_URL: url, ...env });
    expect([status, results]).toStrictEqual([
      0,
      [result('toolu_2', 'The path /memories/user.md does not exist. Please provide a valid path.', true)],
    ]);
  });

  it('ends immediately if the key is rejected, and does not print the key', async (context) => {
    const { url, bodies } = await proxy([]);
    const env = { MEMORY_SERVICE_URL: url, MEMORY_SERVICE_API_KEY: 'msk_wrong' };
    const { status, err, results } = await execute(context, [CREATE, VIEW], env);
    expect([status, results]).toStrictEqual([1, []]);
    expect(err).toMatch(/^The memory service answered 401: .*unauthorized/i);
    expect(err).not.toContain('msk_wrong');
    expect(bodies).toHaveLength(1);
  });
});
