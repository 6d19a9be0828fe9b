import { Writable } from 'node:stream';
import { WriteStream } from 'node:tty';

/** An output of the command line that keeps what is written to it. */
export class CollectedOutput extends Writable {
  readonly chunks: Buffer[] = [];
  readonly isTTY: boolean;
  constructor(isTTY = false) {
    super();
    this.isTTY = isTTY;
  }
  /** As a terminal's, which heeds `NO_COLOR`. */
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
