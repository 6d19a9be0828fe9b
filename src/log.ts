import { type Logger, pino } from 'pino';

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

let second = { startsAt: Number.NEGATIVE_INFINITY, text: '' };

/** As pino's `isoTime`, which takes a day apart for each line. */
function isoTime(): string {
  const now = Date.now();
  const milliseconds = now % 1000;
  if (now - milliseconds !== second.startsAt) {
    const startsAt = now - milliseconds;
    second = { startsAt, text: new Date(startsAt).toISOString().slice(0, -4) };
  }
  return `,"time":"${second.text}${String(milliseconds).padStart(3, '0')}Z"`;
}

/** The service's log: one JSON object a line, to standard output. */
export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: { service: 'memory-service' },
      timestamp: isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    standardOutput(),
  );
}
