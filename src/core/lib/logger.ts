import { once } from 'node:events';
import { type DestinationStream, type Logger, pino } from 'pino';
import sonicBoom from 'sonic-boom';

/** Minimum number of UTF-16 code units to write together. Fewer are written after the interval. */
const MIN_WRITE_CHARACTERS = 16 * 1024;
const FLUSH_INTERVAL_MS = 100;
/**
 * Maximum size for buffered lines. Further lines are dropped, so that a stalled reader causes neither growing memory
 * nor failed requests.
 */
const MAX_BUFFERED_BYTES = 4 * 1024 * 1024;
/** Maximum time that the process waits at its end for the last lines. */
const CLOSE_TIMEOUT_MS = 500;

/**
 * Standard output as a log destination that never blocks and never fails. If the reader stalls, exits, or has a full
 * disk, lines are buffered up to a limit. Further lines are dropped and counted.
 */
class LogOutput implements DestinationStream {
  readonly #stream: sonicBoom.SonicBoom;
  readonly #onRoom: (dropped: number) => void;
  /** The lines are buffered here because sonic-boom's `minLength` copies and measures the whole buffer at each line. */
  #lines: string[] = [];
  #characters = 0;
  #timer: NodeJS.Timeout | undefined;
  #droppedSinceRoom = 0;
  #isClosed = false;
  dropped = 0;

  /** @param onRoom called with the number of dropped lines when lines can be written again */
  constructor(onRoom: (dropped: number) => void) {
    this.#onRoom = onRoom;
    // Opening the stream makes a pipe non-blocking. A blocked write would keep the process from exiting, because Node
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

  /** Writes the buffered lines within `CLOSE_TIMEOUT_MS`. Later lines are lost. */
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

/** Creates a logger that writes one JSON object per line to standard output. All loggers share one output. */
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

/** Returns the number of lines dropped since the process started because standard output was blocked. */
export function droppedLogLines(): number {
  return output?.dropped ?? 0;
}

export async function closeLog(): Promise<void> {
  await output?.close();
}
