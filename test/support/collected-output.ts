import { Writable } from 'node:stream';
import { WriteStream } from 'node:tty';

/** A command line output that keeps all written data. */
export class CollectedOutput extends Writable {
  readonly chunks: Buffer[] = [];
  readonly isTTY: boolean;
  constructor(isTTY = false) {
    super();
    this.isTTY = isTTY;
  }
  /** Respects `NO_COLOR` like a terminal. */
  getColorDepth(env = process.env): number {
    return WriteStream.prototype.getColorDepth(env);
  }
  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.chunks.push(chunk);
    callback();
  }
  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
  get text(): string {
    return this.bytes.toString();
  }
}
