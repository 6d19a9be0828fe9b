import { type DestinationStream, type Logger, pino } from 'pino';

/** Lines are gathered up to so many characters, and for so many milliseconds: a system call each would cost more than the line. */
const MAX_CHARACTERS = 16_384;
const FLUSH_INTERVAL_MS = 100;

/**
 * Gathers lines for a destination of pino's, which has `minLength` for that, but measures all that it has gathered again at each
 * line: that cost more than the rest of the line.
 */
class LineBuffer implements DestinationStream {
  readonly #destination: DestinationStream;
  #lines: string[] = [];
  #characters = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(destination: DestinationStream) {
    this.#destination = destination;
  }

  write(line: string): void {
    this.#lines.push(line);
    this.#characters += line.length;
    if (this.#characters >= MAX_CHARACTERS) this.flushSync();
    else this.#timer ??= setTimeout(() => this.flushSync(), FLUSH_INTERVAL_MS).unref();
  }

  /** Called by pino too, after a line at `fatal`. */
  flushSync(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    const text = this.#lines.join('');
    this.#lines = [];
    this.#characters = 0;
    this.#destination.write(text);
  }
}

let output: LineBuffer | undefined;

/** Standard output, one for the whole process. What is still gathered when the process ends is written; kill -9 loses it. */
function standardOutput(): LineBuffer {
  if (output === undefined) {
    const opened = new LineBuffer(pino.destination({ dest: 1, sync: true }));
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
