import { signal } from '@preact/signals';
import type { Key, SessionInfo } from '../../api/api-types.ts';
import { quoteWord, visibleJson } from '../../api/request-commands.ts';

type Receiver = Pick<Key, 'kind' | 'tenant'>;

export interface Snippet {
  title: string;
  code: string;
}

/** Input for the memory tool. */
export type MemoryInput = Record<string, string | number | readonly number[]>;

export const VIEW: MemoryInput = { command: 'view', path: '/memories' };
/** A first write, which shows in the console that the connection works. */
export const HELLO: MemoryInput = { command: 'create', path: '/memories/hello.md', file_text: 'Hello\n' };

/** The agents' API URL that the user has entered in place of the guess. */
export const enteredUrl = signal<string | null>(null);

/**
 * Returns the agents' API URL: `PUBLIC_URL`, else a guess from the console's address. With HTTPS, a proxy is in
 * front of `PORT`, so the guess has no port.
 */
export function findServiceUrl(
  { service_url, service_port }: Pick<SessionInfo, 'service_url' | 'service_port'>,
  { protocol, hostname }: Pick<Location, 'protocol' | 'hostname'>,
): string {
  const origin = `${protocol}//${hostname}`;
  return service_url ?? (protocol === 'https:' ? origin : `${origin}:${service_port}`);
}

/**
 * Returns the texts to hand over with a key: settings, and a request in several languages.
 *
 * @param input the request's command
 */
export function createSnippets(key: Receiver, secret: string, url: string, input = VIEW): Snippet[] {
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
        `-d ${quoteWord(visibleJson(input))}`,
      ].join(' \\\n  '),
    },
    {
      title: 'TypeScript',
      code: `import { MemoryClient } from 'memory-service-client';

const memory = new MemoryClient({
  url: '${url}',
  apiKey: '${secret}',
${tenant === null ? '' : `  tenant: '${tenant}',\n`}});
const { content } = await memory.execute(${toTypeScript(input)});
console.log(content);`,
    },
    {
      title: 'Python',
      code: `from memory_service_client import MemoryClient

memory = MemoryClient(
    "${url}",
    api_key="${secret}",
${tenant === null ? '' : `    tenant="${tenant}",\n`})
print(memory.execute(${toPython(input)}))`,
    },
  ];
}

function toTypeScript(input: MemoryInput): string {
  const values = Object.entries(input).map(([name, value]) => {
    const json = visibleJson(value);
    return `${name}: ${/^"[^'\\]*"$/.test(json) ? `'${json.slice(1, -1)}'` : json}`;
  });
  return `{ ${values.join(', ')} }`;
}

/** Formats an input as a Python dict. Python has no surrogate pairs, so an escaped pair becomes one code point. */
function toPython(input: MemoryInput): string {
  const values = Object.entries(input).map(([name, value]) => `"${name}": ${visibleJson(value)}`);
  return `{${values.join(', ')}}`.replace(/(?:\\u[\da-f]{4}){2}/gi, (pair) => {
    const code = (JSON.parse(`"${pair}"`) as string).codePointAt(0) ?? 0;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : pair;
  });
}
