import { type Logger, pino, stdTimeFunctions } from 'pino';

/** Lines are gathered up to so many bytes, and for so many milliseconds: a system call each would cost more than the line. */
const BUFFER_BYTES = 4096;
const FLUSH_INTERVAL_MS = 100;

let output: ReturnType<typeof pino.destination> | undefined;

/** Standard output, one for the whole process. What is still gathered when the process ends is written; kill -9 loses it. */
function standardOutput() {
  if (output === undefined) {
    const opened = pino.destination({
      dest: 1,
      sync: true,
      minLength: BUFFER_BYTES,
      periodicFlush: FLUSH_INTERVAL_MS,
    });
    process.once('exit', () => opened.flushSync());
    output = opened;
  }
  return output;
}

/** The service's log: one JSON object a line, to standard output. */
export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: { service: 'memory-service' },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    standardOutput(),
  );
}
