import { pino } from 'pino';
import { expect, it } from 'vitest';
import { loadConfig } from '../config.ts';
import { createHttpServer } from './http-server.ts';

it.each(['0', '30s', '10m', '24d'])(
  'creates a server with REQUEST_TIMEOUT_MS=%s',
  async (REQUEST_TIMEOUT_MS) => {
    const config = loadConfig({ REQUEST_TIMEOUT_MS });
    for (const requestTimeoutMs of [config.REQUEST_TIMEOUT_MS, 0]) {
      const app = createHttpServer(config, { log: pino({ level: 'silent' }), requestTimeoutMs });
      expect(app.server.headersTimeout).toBe(config.REQUEST_TIMEOUT_MS);
      expect(app.server.requestTimeout).toBe(requestTimeoutMs);
      await app.close();
    }
  },
);
