/** The official MCP conformance suite, and the protocol's JSON schemas, which the suite contains. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { install } from '../client/packed-client.ts';
import { create, headersFor, modern, requestHeaders, sendMcp } from '../support/mcp.ts';
import { type Service, startSharedService } from '../support/test-service.ts';

let directory = '';
let url = '';
let schemas: Record<string, Ajv2020> = {};
let service: Service;

beforeAll(async () => {
  ({ directory } = await install(['@modelcontextprotocol/conformance@0.2.0-alpha.12'], 'prefer-offline'));
  schemas = await readSchemas();
  service = await startSharedService('postgres', { HOST: '127.0.0.1' });
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`;
  await service.execute(create);
  return () => service.close();
}, 480_000);

/** Finds the schemas in the bundle, by definitions that only one protocol version has. */
async function readSchemas(): Promise<Record<string, Ajv2020>> {
  const bundle = await readFile(
    join(directory, 'node_modules/@modelcontextprotocol/conformance/dist/index.js'),
    'utf8',
  );
  const found = [...bundle.matchAll(/=(?=\{\$schema:`)/g)].map(({ index }) =>
    runInNewContext(`(${literalAt(bundle, index + 1)})`),
  );
  const withDefinition = (name: string) => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    return ajv.addSchema(
      found.find((schema) => schema.$defs?.[name] !== undefined),
      'schema',
    );
  };
  return {
    '2026-07-28': withDefinition('DiscoverResultResponse'),
    '2025-11-25': withDefinition('CreateTaskResult'),
  };
}

/** Returns the object literal at an index. The literals contain braces only in pairs or in strings. */
function literalAt(text: string, start: number): string {
  let depth = 0;
  let quote = '';
  for (let i = start; i < text.length; i++) {
    const character = text[i] ?? '';
    if (quote !== '') {
      if (character === '\\') i++;
      else if (character === quote) quote = '';
    } else if (`'"\``.includes(character)) quote = character;
    else if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return text.slice(start, i + 1);
  }
  throw new Error('the object literal has no end');
}

/** These checks need tools that only the reference server has. */
const NEED_REFERENCE_TOOLS = [
  'sep-2575-http-server-no-independent-requests-on-stream',
  'sep-2575-missing-capability-http-400',
  'sep-2575-server-no-log-without-loglevel',
  'sep-2575-server-rejects-undeclared-capability',
];

it.each([
  ['2026-07-28', 'server-stateless'],
  ['2026-07-28', 'http-header-validation'],
  ['2026-07-28', 'caching'],
  ['2026-07-28', 'tools-list'],
  ['2026-07-28', 'prompts-list'],
  ['2026-07-28', 'resources-list'],
  ['2026-07-28', 'sep-2164-resource-not-found'],
  ['2026-07-28', 'dns-rebinding-protection'],
  ['2025-11-25', 'server-initialize'],
  ['2025-11-25', 'ping'],
  ['2025-11-25', 'tools-list'],
  ['2025-11-25', 'resources-list'],
  ['2025-11-25', 'prompts-list'],
  ['2025-11-25', 'dns-rebinding-protection'],
])('passes the conformance scenario for version %s at /mcp: %s', async (version, scenario) => {
  const args = ['server', '--url', `${url}/mcp`, '--scenario', scenario, '--spec-version', version];
  const program = join(directory, 'node_modules/.bin/conformance');
  const env = { PATH: process.env.PATH, HOME: directory };
  // The command fails if a check fails.
  const { stdout } = await promisify(execFile)(program, args, { cwd: directory, env }).catch(
    (error) => error,
  );
  const failed = [...stdout.matchAll(/\[(\S+) *\] \S*FAILURE/g)].map(([, check]) => check).sort();
  expect(failed).toStrictEqual(scenario === 'server-stateless' ? NEED_REFERENCE_TOOLS : []);
  expect(stdout).toMatch(/Passed: [1-9]/);
});

const URI = 'memory:///memories/user.md';
const CALL = { name: 'memory', arguments: { command: 'view', path: '/memories' } };
const METHODS = [
  ['tools/list', {}, 'ListToolsResult'],
  ['tools/call', CALL, 'CallToolResult'],
  ['prompts/list', {}, 'ListPromptsResult'],
  ['prompts/get', { name: 'memory-protocol' }, 'GetPromptResult'],
  ['resources/list', {}, 'ListResourcesResult'],
  ['resources/templates/list', {}, 'ListResourceTemplatesResult'],
  ['resources/read', { uri: URI }, 'ReadResourceResult'],
] as const;
const INITIALIZE = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
};

/** Returns a value's violations of a definition in one version's schema. */
function violations(version: string, definition: string, value: unknown) {
  const validate = schemas[version]?.getSchema(`schema#/$defs/${definition}`);
  if (validate === undefined) throw new Error(`the schema of ${version} has no ${definition}`);
  return validate(value) ? [] : validate.errors;
}

describe('the JSON schema for 2026-07-28', () => {
  it.each([...METHODS, ['server/discover', {}, 'DiscoverResult'] as const])(
    'confirms that the response to %s fits the JSON schema for 2026-07-28',
    async (method, params, definition) => {
      const message = modern(method, params);
      const { body } = await sendMcp(url, message, requestHeaders(undefined, headersFor(message)));
      expect(violations('2026-07-28', `${definition}Response`, body)).toStrictEqual([]);
    },
  );

  it('confirms that the error for a missing resource fits the JSON schema', async () => {
    const message = modern('resources/read', { uri: `${URI}x` });
    const { body } = await sendMcp(url, message, requestHeaders(undefined, headersFor(message)));
    expect(violations('2026-07-28', 'JSONRPCErrorResponse', body)).toStrictEqual([]);
    expect(violations('2026-07-28', 'InvalidParamsError', body.error)).toStrictEqual([]);
  });
});

describe('the JSON schema for 2025-11-25', () => {
  it.each([
    ...METHODS,
    ['initialize', INITIALIZE, 'InitializeResult'] as const,
    ['ping', {}, 'EmptyResult'] as const,
  ])(
    'confirms that the response to %s fits the JSON schema for 2025-11-25',
    async (method, params, definition) => {
      const { body } = await sendMcp(url, { jsonrpc: '2.0', id: 1, method, params }, requestHeaders());
      expect(violations('2025-11-25', 'JSONRPCResultResponse', body)).toStrictEqual([]);
      expect(violations('2025-11-25', definition, body.result)).toStrictEqual([]);
    },
  );

  it('rejects a response without a result, so that the other checks can fail', () => {
    expect(violations('2025-11-25', 'ListToolsResult', {})).not.toStrictEqual([]);
    expect(
      violations('2026-07-28', 'ListToolsResultResponse', { jsonrpc: '2.0', id: 1, result: { tools: [] } }),
    ).not.toStrictEqual([]);
  });
});
