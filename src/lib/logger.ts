import { once } from 'node:events';
import { type DestinationStream, type Logger, pino } from 'pino';
import sonicBoom from 'sonic-boom';

/** In UTF-16 units. Lines are written once this much is gathered, or after the interval. */
const MIN_WRITE_CHARACTERS = 16 * 1024;
const FLUSH_INTERVAL_MS = 100;
/** Lines beyond this are dropped: a reader that has stopped must cost neither memory nor requests. */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
/** How long the end of the process waits for the last lines. */
const CLOSE_TIMEOUT_MS = 500;

/**
 * Standard output as a log destination that never blocks and never fails. Whatever happens to the reader (it stops
 * reading, goes away, its disk is full), lines are kept up to a limit, and then dropped and counted.
 */
class LogOutput implements DestinationStream {
  readonly #stream: sonicBoom.SonicBoom;
  readonly #onRoom: (dropped: number) => void;
  /** Gathered here: sonic-boom's `minLength` copies and measures all that it has gathered at each line. */
  #lines: string[] = [];
  #characters = 0;
  #timer: NodeJS.Timeout | undefined;
  #droppedSinceRoom = 0;
  #isClosed = false;
  dropped = 0;

  /** @param onRoom called with the number of lines dropped, once lines can be written again. */
  constructor(onRoom: (dropped: number) => void) {
    this.#onRoom = onRoom;
    // Opening the stream makes a pipe non-blocking. A blocked write would keep the process from exiting, since Node
    // waits for its thread pool.
    void process.stdout;
    this.#stream = new sonicBoom.SonicBoom({
      fd: 1,
      sync: false,
      maxLength: MAX_BUFFERED_BYTES,
      periodicFlush: FLUSH_INTERVAL_MS,
    });
    this.#stream.on('drop', (lines: string) => {
      const dropped = lines.split('\n').length - 1;
      this.dropped += dropped;
      this.#droppedSinceRoom += dropped;
    });
    // A failed write (full disk, no reader) is retried with the next lines or flush.
    this.#stream.on('error', () => {});
    this.#stream.on('drain', () => this.#reportDropped());
  }

  write(line: string): void {
    if (this.#isClosed) return;
    this.#lines.push(line);
    this.#characters += line.length;
    if (this.#characters >= MIN_WRITE_CHARACTERS) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_INTERVAL_MS).unref();
  }

  /** Writes what is buffered, and gives up after `CLOSE_TIMEOUT_MS`. Later lines are lost. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#flush();
    const signal = AbortSignal.timeout(CLOSE_TIMEOUT_MS);
    const closed = once(this.#stream, 'close', { signal }).catch(() => {});
    this.#stream.end();
    await closed;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#lines.join('');
    this.#lines = [];
    this.#characters = 0;
    if (text !== '') this.#stream.write(text);
  }

  #reportDropped(): void {
    if (this.#droppedSinceRoom === 0) return;
    const dropped = this.#droppedSinceRoom;
    this.#droppedSinceRoom = 0;
    this.#onRoom(dropped);
  }
}

let output: LogOutput | undefined;

/** The service's log: one JSON object a line, to standard output. Loggers share one output. */
export function createLogger(level: string): Logger {
  output ??= new LogOutput((dropped) => log.warn({ dropped }, 'log lines dropped'));
  const log = pino(
    {
      level,
      base: { service: 'memory-service' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    output,
  );
  return log;
}

/** Lines dropped since the process started, because standard output took none. */
export function droppedLogLines(): number {
  return output?.dropped ?? 0;
}

/** Writes the last lines, for the end of the process. */
export async function closeLog(): Promise<void> {
  await output?.close();
}
