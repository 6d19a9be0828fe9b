import type { AddressInfo } from 'node:net';
import { MemoryClient, type MemoryClientOptions } from 'memory-service-client';
import { afterAll, beforeAll } from 'vitest';
import { Keys, newApiKey } from '../../src/core/tenants/keys.ts';
import { Tenants } from '../../src/core/tenants/tenants.ts';
import {
  type Block,
  type MessagesApi,
  type Reply,
  startMessagesApi,
  type ToolResult,
} from '../support/messages-api.ts';
import { freshTenant, type Service, startSharedService } from '../support/test-service.ts';

/** An agent's environment: the service on a socket with keys and real Postgres, and the Messages API. */
export interface AgentFixture {
  readonly url: string;
  /** Service key, valid for any tenant. */
  readonly serviceKey: string;
  /** Starts a fake Messages API that ends with the tests. */
  messagesApi(replies: readonly Reply[]): Promise<MessagesApi>;
  /** Returns a client with a service key, by default for a new tenant. */
  client(options?: Partial<MemoryClientOptions>): MemoryClient;
  database(): Service['database'];
  /** Runs SQL on the service's database. */
  query: Service['query'];
  /** Creates a tenant and returns a key for it. */
  tenantKey(access?: 'read_write' | 'read_only'): Promise<string>;
  /** Creates a tenant and returns its ID and a key. */
  tenantWithKey(access?: 'read_write' | 'read_only'): Promise<{ tenant: string; key: string }>;
}

const SILENT = { warn: () => {}, debug: () => {} };

/** @param env variables for the service, in addition to API keys without a limit on failures */
export function useAgentFixture(env: Record<string, string> = {}): AgentFixture {
  let service: Service | undefined;
  const apis: MessagesApi[] = [];

  const makeKey = async (tenant: string | null, access: 'read_write' | 'read_only') => {
    if (!service) throw new Error('the service is started in beforeAll');
    const { key, hash, id } = newApiKey();
    await new Keys(service.database).create({ hash, id, tenant, access, label: '', expiresAt: null });
    return key;
  };
  const fixture: AgentFixture & { url: string; serviceKey: string } = {
    url: '',
    serviceKey: '',
    messagesApi: async (replies: readonly Reply[]) => {
      const api = await startMessagesApi(replies);
      apis.push(api);
      return api;
    },
    client: (options: Partial<MemoryClientOptions> = {}) =>
      new MemoryClient({
        url: fixture.url,
        apiKey: fixture.serviceKey,
        tenant: freshTenant(),
        logger: SILENT,
        ...options,
      }),
    database: () => {
      if (!service) throw new Error('the service is started in beforeAll');
      return service.database;
    },
    query: async (sql: string, parameters?: unknown[]) => {
      if (!service) throw new Error('the service is started in beforeAll');
      return service.query(sql, parameters);
    },
    tenantKey: async (access: 'read_write' | 'read_only' = 'read_write') =>
      (await fixture.tenantWithKey(access)).key,
    tenantWithKey: async (access: 'read_write' | 'read_only' = 'read_write') => {
      const tenant = freshTenant();
      await new Tenants(fixture.database()).create(tenant);
      return { tenant, key: await makeKey(tenant, access) };
    },
  };
  beforeAll(async () => {
    service = await startSharedService('postgres', { AUTH: 'keys', AUTH_FAILURES_PER_MINUTE: '0', ...env });
    await service.app.listen({ host: '127.0.0.1', port: 0 });
    fixture.url = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`;
    fixture.serviceKey = await makeKey(null, 'read_write');
  });
  afterAll(async () => {
    for (const api of apis) await api.close();
    const closing = service?.close();
    // An HTTP library may have opened a connection that carries no request. Node would keep it for a minute.
    service?.app.server.closeAllConnections();
    await closing;
  });
  return fixture;
}

export const text = (words: string): Block => ({ type: 'text', text: words });

/** Builds a call to the memory tool or to another tool. */
export const use = (id: string, input: unknown, name = 'memory'): Block => ({
  type: 'tool_use',
  id,
  name,
  input,
});

/** Builds a `tool_result` as the Anthropic SDK sends it, without `is_error` for a success. */
export const result = (id: string, content: string): ToolResult => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
export const failure = (id: string, content: string): ToolResult => ({
  ...result(id, content),
  is_error: true,
});
