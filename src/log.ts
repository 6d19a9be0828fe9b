import { type Logger, pino, stdTimeFunctions } from 'pino';

/** The service's log: one JSON object a line, to standard output. */
export function createLogger(level: string): Logger {
  return pino({
    level,
    base: { service: 'memory-service' },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
}
