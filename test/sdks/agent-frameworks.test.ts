/**
 * The adapters for Deep Agents and just-bash, and frameworks that use the MCP server, with each framework's newest
 * version: the snippets in the guide compile and run without a model.
 */
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MemoryClient } from 'memory-service-client';
import { beforeAll, describe, expect, it } from 'vitest';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { useAgentFixture } from '../client/agent-fixture.ts';
import { compile, install, pack, run } from '../client/packed-client.ts';
import { startOpenAi } from '../support/openai-api.ts';

const fixture = useAgentFixture();

const VERSIONS = {
  deepagents: ['deepagents@1.14.1'],
  justBash: ['just-bash@3.4.2'],
  mastra: ['@mastra/core@1.71.0', '@mastra/mcp@2.0.0'],
  openai: ['openai@7.59.0'],
};

const OPTIONS = { module: 'nodenext', moduleResolution: 'nodenext', types: ['node'], skipLibCheck: true };

let archive = '';
const snippets: Record<string, string[]> = {};
beforeAll(async () => {
  archive = (await pack('memory-service-client')).archive;
  for (const name of ['agent-frameworks', 'any-model']) {
    const guide = await readFile(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8');
    snippets[name] = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
  }
});

/** Creates a project with packages, the client, and the programs in `frameworks`. */
async function project(packages: readonly string[], ...programs: string[]): Promise<string> {
  const options = [archive, '@types/node@22.20.5', '--ignore-scripts', ...packages];
  const { directory } = await install(options, 'prefer-offline');
  for (const name of programs) {
    await copyFile(new URL(`./frameworks/${name}`, import.meta.url), join(directory, name));
  }
  return directory;
}

async function execute(directory: string, program: string, env: Record<string, string>): Promise<string> {
  const variables = { PATH: process.env.PATH, MEMORY_SERVICE_URL: fixture.url, ...env };
  return (await run(process.execPath, [program], { cwd: directory, env: variables })).stdout;
}

describe('Deep Agents', () => {
  let directory = '';
  beforeAll(async () => {
    directory = await project(VERSIONS.deepagents, 'deepagents.mjs');
  }, 480_000);

  it('compiles the snippet for Deep Agents', async () => {
    await compile(directory, { 'agent.mts': snippets['agent-frameworks']?.[0] ?? '' }, OPTIONS);
  });

  it('gives Deep Agents the same responses as its StoreBackend, and serves an agent', async () => {
    const { tenant } = await fixture.tenantWithKey();
    const env = { MEMORY_SERVICE_API_KEY: fixture.serviceKey, MEMORY_SERVICE_TENANT: tenant };
    expect(await execute(directory, 'deepagents.mjs', env)).toBe(`62 calls as with StoreBackend
write_file: Successfully wrote to '/memories/user.md'
read_file: @@ lines 1-1 of 1 @@
Lives in Lyon.
edit_file: Successfully replaced 1 occurrence(s) in '/memories/user.md'
grep: /memories/user.md:
  1: Lives in Paris.
glob: /memories/user.md
/memories/counts.md
ls: /memories/counts.md (11 bytes)
/memories/user.md (16 bytes)
read_file: Error: File '/missing.md' not found
Here's the content of /memories/user.md with line numbers:
     1\tLives in Paris.
     2\t
`);
  });
});

describe('just-bash', () => {
  let directory = '';
  beforeAll(async () => {
    directory = await project(VERSIONS.justBash, 'just-bash.mjs');
  }, 480_000);

  it('compiles the snippet for just-bash, and finds a text in the memory with it', async () => {
    await compile(directory, { 'agent.mts': snippets['agent-frameworks']?.[1] ?? '' }, OPTIONS);
    const env = { MEMORY_SERVICE_API_KEY: await fixture.tenantKey() };
    expect(await execute(directory, 'out/agent.mjs', env)).toBe('notes.md:1:Likes tea.\n');
  });

  it('prints the same output in just-bash as its in-memory filesystem does', async () => {
    const { tenant, key } = await fixture.tenantWithKey();
    const reader = newApiKey();
    const read = { tenant, access: 'read_only', label: '', expiresAt: null } as const;
    await new Keys(fixture.database()).create({ hash: reader.hash, id: reader.id, ...read });
    const env = { MEMORY_SERVICE_API_KEY: key, MEMORY_SERVICE_READ_KEY: reader.key };
    expect(await execute(directory, 'just-bash.mjs', env)).toBe(`36 commands as on InMemoryFs
Likes coffee.
head -n 1 user.md: Likes coffee.
cp user.md other.md: cp: cannot copy 'user.md': EACCES: The credential is read-only., open '/other.md'
echo x > other.md: EACCES: The credential is read-only., open '/other.md'
echo x > user.md/below: ENOTDIR: The path conflicts with another memory, at, above or below it. Rename or delete that memory first., open '/user.md/below'
gzip -c user.md > bytes.gz: EILSEQ: a memory holds only text in UTF-8, write '/bytes.gz'
`);
  });
});

describe('Mastra', () => {
  it('compiles the snippet for Mastra, and lists the tools over MCP with it', async () => {
    const directory = await project(VERSIONS.mastra);
    await compile(directory, { 'agent.mts': snippets['agent-frameworks']?.[2] ?? '' }, OPTIONS);
    const { key } = await fixture.tenantWithKey();
    expect(await execute(directory, 'out/agent.mjs', { MEMORY_SERVICE_API_KEY: key })).toBe(
      'memory_memory, memory_memory_search\n',
    );
  }, 480_000);
});

describe('the OpenAI SDK', () => {
  it('compiles the snippet for the OpenAI SDK, and returns tool results to the model with it', async () => {
    const directory = await project(VERSIONS.openai);
    await compile(directory, { 'agent.mts': snippets['any-model']?.[0] ?? '' }, OPTIONS);
    const { key } = await fixture.tenantWithKey();
    const api = await startOpenAi();
    const env = {
      MEMORY_SERVICE_API_KEY: key,
      OPENAI_BASE_URL: api.url,
      OPENAI_API_KEY: 'test',
      MODEL: 'test',
    };
    expect(await execute(directory, 'out/agent.mjs', env)).toBe('I will remember that you live in Lyon.\n');
    await api.close();
    const memory = new MemoryClient({ url: fixture.url, apiKey: key });
    const { content } = await memory.execute({ command: 'view', path: '/memories/user.md' });
    expect(content).toBe(
      "Here's the content of /memories/user.md with line numbers:\n     1\tLives in Lyon.",
    );
  }, 480_000);
});

it("lists the agent frameworks' tested versions in the guides", async () => {
  const guides = await Promise.all(
    ['agent-frameworks', 'any-model'].map((name) =>
      readFile(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8'),
    ),
  );
  const versions = Object.values(VERSIONS).flat();
  const named = versions.map((name) => {
    const at = name.lastIndexOf('@');
    return `\`${name.slice(0, at)}\` ${name.slice(at + 1)}`;
  });
  expect(named.filter((each) => !guides.join().includes(each))).toStrictEqual([]);
});
