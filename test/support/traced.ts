import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { startCollector } from './otlp-collector.ts';
import { startServer } from './process.ts';
import { createTestDatabase } from './test-database.ts';

export const TRACE = '0af7651916cd43dd8448eb211c80319c';
/** The caller's span. */
export const CALLER = 'b7ad6b7169203331';
export const SERVER = 2;

export const traceparent = (trace = TRACE, flags = '01') => ({
  traceparent: `00-${trace}-${CALLER}-${flags}`,
});

/** Gives a file's tests one database, and servers that end with their test. */
export function useTracedServers() {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  const closings: (() => unknown)[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    for (const close of closings.splice(0)) await close();
  });
  afterAll(() => database.drop());

  const start = async (env: Record<string, string> = {}) => {
    const server = await startServer({ DATABASE_URL: database.url, ...env });
    closings.push(() => server.child.kill('SIGKILL'));
    return server;
  };
  return {
    databaseUrl: () => database.url,
    /** Starts a server without a collector. */
    start,
    /** Starts a server that sends its spans to a new collector. `stop` resolves with the spans and the log. */
    async startTraced(env: Record<string, string> = {}) {
      const collector = await startCollector();
      closings.push(() => collector.close());
      const server = await start({
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        ...env,
      });
      const stop = async () => {
        server.child.kill('SIGTERM');
        expect(await server.exit).toBe(0);
        return { log: server.output(), spans: collector.spans() };
      };
      return { ...server, collector, stop };
    },
  };
}
