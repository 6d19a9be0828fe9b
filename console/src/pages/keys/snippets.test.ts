import { expect, it } from 'vitest';
import { createSnippets, findServiceUrl } from './snippets.ts';

const texts = (kind: 'tenant' | 'service' | 'admin', tenant: string | null) =>
  createSnippets({ kind, tenant }, 'msk_secret', 'https://memory.example.com').map(({ title, code }) => [
    title,
    code,
  ]);

it.each([
  [null, 8080, 'http://localhost:8080'],
  [null, 9000, 'http://localhost:9000'],
  ['https://memory.example.com/agents', 9000, 'https://memory.example.com/agents'],
])(
  "returns PUBLIC_URL %j, or if it is null, the console's host with PORT %d",
  (service_url, service_port, url) => {
    const place = { protocol: 'http:', hostname: 'localhost' };
    expect(findServiceUrl({ service_url, service_port }, place)).toBe(url);
  },
);

it('omits the tenant from the snippets for a tenant key', () => {
  expect(texts('tenant', 'acme')).toStrictEqual([
    ['Environment', 'MEMORY_SERVICE_URL=https://memory.example.com\nMEMORY_SERVICE_API_KEY=msk_secret'],
    [
      'curl',
      'curl https://memory.example.com/execute \\\n  -H \'Authorization: Bearer msk_secret\' \\\n  -H \'Content-Type: application/json\' \\\n  -d \'{"command":"view","path":"/memories"}\'',
    ],
    [
      'TypeScript',
      "import { MemoryClient } from 'memory-service-client';\n\nconst memory = new MemoryClient({\n  url: 'https://memory.example.com',\n  apiKey: 'msk_secret',\n});\nconst { content } = await memory.execute({ command: 'view', path: '/memories' });\nconsole.log(content);",
    ],
    [
      'Python',
      'from memory_service_client import MemoryClient\n\nmemory = MemoryClient(\n    "https://memory.example.com",\n    api_key="msk_secret",\n)\nprint(memory.execute({"command": "view", "path": "/memories"}))',
    ],
  ]);
});

it('uses a placeholder for the tenant in the snippets for a service key', () => {
  const [environment, curl, typescript, python] = texts('service', null).map(([, code]) => code);
  expect(environment).toContain('MEMORY_SERVICE_TENANT=TENANT');
  expect(curl).toContain("-H 'X-Tenant-Id: TENANT'");
  expect(typescript).toContain("  tenant: 'TENANT',\n");
  expect(python).toContain('    tenant="TENANT",\n');
});

it('calls the admin API in the snippet for an admin key', () => {
  expect(texts('admin', null)).toStrictEqual([
    ['curl', "curl https://memory.example.com/v1/session \\\n  -H 'Authorization: Bearer msk_secret'"],
  ]);
});
