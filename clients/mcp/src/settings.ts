import { parseArgs } from 'node:util';
import { MemoryClient, type MemoryClientOptions } from 'memory-service-client';
import { parseSize } from '../../../src/core/lib/units.ts';

/** The service's default: a file of 1 MiB with the longest JSON escapes. */
const DEFAULT_MAX_BODY_BYTES = 6 * 2 ** 20 + 65_536;

export const USAGE = `Usage: memory-service-mcp [--http PORT [--host HOST] [--allowed-host NAME]...]

Serves the memory of a memory service over MCP: on standard input and output, or with --http over streamable HTTP at /mcp.

  --http PORT          listen on this port; each caller sends its own API key as a bearer token
  --host HOST          listen on this address (default 127.0.0.1)
  --allowed-host NAME  a name under which callers reach this server; needed with an address other than loopback
  --version, --help

Environment:
  MEMORY_SERVICE_URL         where the service is (default http://localhost:8080)
  MEMORY_SERVICE_API_KEY     an API key or a JWT; not with --http
  MEMORY_SERVICE_TENANT      whose memory it is: with a service key, or a service without authentication
  MEMORY_SERVICE_PROVENANCE  include or omit who wrote each line last, if the tenant's setting allows it
  MAX_BODY_BYTES             with --http, the largest request body (default ${DEFAULT_MAX_BODY_BYTES}, as in the service)
`;

/** Invalid arguments or variables. The message is for the user, and never contains the key. */
export class UsageError extends Error {}

export interface Settings {
  client: {
    url: string;
    apiKey: string | undefined;
    tenant: string | undefined;
    provenance: boolean | undefined;
  };
  /** Undefined means standard input and output. */
  http: { port: number; host: string; allowedHosts: string[]; maxBodyBytes: number } | undefined;
}

/** @throws UsageError */
export function readSettings(args: string[], env: NodeJS.ProcessEnv): Settings | 'help' | 'version' {
  const values = parse(args);
  if (values.help) return 'help';
  if (values.version) return 'version';
  const client = {
    url: env.MEMORY_SERVICE_URL || 'http://localhost:8080',
    apiKey: env.MEMORY_SERVICE_API_KEY || undefined,
    tenant: env.MEMORY_SERVICE_TENANT || undefined,
    provenance: readProvenance(env.MEMORY_SERVICE_PROVENANCE),
  };
  const { http, host = '127.0.0.1', 'allowed-host': allowedHosts = [] } = values;
  if (http === undefined) {
    if (values.host !== undefined || allowedHosts.length > 0) {
      throw new UsageError('--host and --allowed-host need --http');
    }
    return { client, http: undefined };
  }
  const port = Number(http);
  if (!/^\d+$/.test(http) || port > 65_535) throw new UsageError('--http needs a port from 0 to 65535');
  // All clients that reach the port would use this key.
  if (client.apiKey !== undefined) {
    throw new UsageError(
      'Unset MEMORY_SERVICE_API_KEY: with --http, each caller sends its own API key as a bearer token',
    );
  }
  if (!isLoopback(host) && allowedHosts.length === 0) {
    throw new UsageError(`--host ${host} needs --allowed-host with the name under which callers reach it`);
  }
  const maxBodyBytes = parseSize(env.MAX_BODY_BYTES || String(DEFAULT_MAX_BODY_BYTES)) ?? 0;
  if (maxBodyBytes < 1) {
    throw new UsageError('MAX_BODY_BYTES needs a size such as 10MB, or a number of bytes, at least 1');
  }
  return { client, http: { port, host, allowedHosts, maxBodyBytes } };
}

/** @throws UsageError */
function readProvenance(given = ''): boolean | undefined {
  if (given === '') return undefined;
  if (given === 'include' || given === 'omit') return given === 'include';
  throw new UsageError('MEMORY_SERVICE_PROVENANCE must be include or omit');
}

/** Names of the client's options in the settings of the server. */
const OPTION_NAMES: Record<string, string> = {
  url: 'MEMORY_SERVICE_URL',
  apiKey: 'MEMORY_SERVICE_API_KEY (over HTTP, the bearer token)',
  tenant: 'MEMORY_SERVICE_TENANT (over HTTP, X-Tenant-Id)',
};

/** Replaces the client's options in a message with this server's settings. */
export function nameSettings(message: string): string {
  return message.replace(/`(\w+)`/g, (quoted, option) => OPTION_NAMES[option] ?? quoted);
}

/** Creates a client whose warnings are printed to standard error with the names of the settings. */
export function createClient(options: MemoryClientOptions): MemoryClient {
  const logger = { warn: (message: string) => console.warn(nameSettings(message)), debug: () => {} };
  return new MemoryClient({ ...options, logger });
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        http: { type: 'string' },
        host: { type: 'string' },
        'allowed-host': { type: 'string', multiple: true },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
