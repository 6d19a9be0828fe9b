import { type Logger, pino } from 'pino';

/** The service's log: one JSON object a line, to standard output. */
export function createLogger(level: string): Logger {
  return pino({ level, base: { service: 'memory-service' } });
}
