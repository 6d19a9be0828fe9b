import type { Key, SessionInfo } from '../../api/api-types.ts';

type Receiver = Pick<Key, 'kind' | 'tenant'>;

export interface Snippet {
  title: string;
  code: string;
}

/**
 * Returns the URL of the agents' API: `PUBLIC_URL`, else the console's host with `PORT`, which may differ behind a
 * proxy.
 */
export function findServiceUrl(
  { service_url, service_port }: Pick<SessionInfo, 'service_url' | 'service_port'>,
  { protocol, hostname }: Pick<Location, 'protocol' | 'hostname'>,
): string {
  return service_url ?? `${protocol}//${hostname}:${service_port}`;
}

/** Returns the texts to hand over with a new key: settings, and a first request in several languages. */
export function createSnippets(key: Receiver, secret: string, url: string): Snippet[] {
  if (key.kind === 'admin') {
    return [{ title: 'curl', code: `curl ${url}/v1/session \\\n  -H 'Authorization: Bearer ${secret}'` }];
  }
  // A key for one tenant needs no tenant in its requests.
  const tenant = key.kind === 'service' ? 'TENANT' : null;
  return [
    {
      title: 'Environment',
      code: [
        `MEMORY_SERVICE_URL=${url}`,
        `MEMORY_SERVICE_API_KEY=${secret}`,
        ...(tenant === null ? [] : [`MEMORY_SERVICE_TENANT=${tenant}`]),
      ].join('\n'),
    },
    {
      title: 'curl',
      code: [
        `curl ${url}/execute`,
        `-H 'Authorization: Bearer ${secret}'`,
        ...(tenant === null ? [] : [`-H 'X-Tenant-Id: ${tenant}'`]),
        `-H 'Content-Type: application/json'`,
        `-d '{"command":"view","path":"/memories"}'`,
      ].join(' \\\n  '),
    },
    {
      title: 'TypeScript',
      code: `import { MemoryClient } from 'memory-service-client';

const memory = new MemoryClient({
  url: '${url}',
  apiKey: '${secret}',
${tenant === null ? '' : `  tenant: '${tenant}',\n`}});
const { content } = await memory.execute({ command: 'view', path: '/memories' });
console.log(content);`,
    },
    {
      title: 'Python',
      code: `from memory_service_client import MemoryClient

memory = MemoryClient(
    "${url}",
    api_key="${secret}",
${tenant === null ? '' : `    tenant="${tenant}",\n`})
print(memory.execute({"command": "view", "path": "/memories"}))`,
    },
  ];
}
