import { Readable } from 'node:stream';

/** A tar header as an attacker might write it, without validation. */
export interface RawHeader {
  name: string | Buffer;
  /** A string is written to the field unchanged. */
  size?: number | string;
  /** '0' file, '1' hard link, '2' symbolic link, '3' '4' device, '5' directory, '6' pipe, 'x' extended header. */
  type?: string;
  link?: string;
  content?: string | Buffer;
}

const BLOCK = 512;

/** Returns one padded archive entry. A `size` larger than the content truncates the entry. */
export function entry({ name, type = '0', link = '', content = '', size }: RawHeader): Buffer {
  const body = Buffer.from(content);
  const header = Buffer.alloc(BLOCK);
  const bytes = typeof size === 'number' ? size : body.length;
  header.set(Buffer.from(name).subarray(0, 100));
  header.write('0000644\x000000000\x000000000\0', 100);
  if (bytes < 8 ** 11) header.write(`${bytes.toString(8).padStart(11, '0')}\0`, 124);
  else header.writeBigUInt64BE(BigInt(bytes), header.writeUInt8(0x80, 124) + 3);
  if (typeof size === 'string') header.write(size.padEnd(12, '\0'), 124, 'latin1');
  header.write('00000000017\0', 136);
  header.write(type, 156);
  header.write(link, 157);
  header.write('ustar\x0000', 257);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const padded = Buffer.alloc(Math.ceil(body.length / BLOCK) * BLOCK);
  padded.set(body);
  return Buffer.concat([header, padded]);
}

/** Returns a PAX header for the next entry. */
export function pax(records: Record<string, string | Buffer>): Buffer {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
    const length = [1, 2, 3, 4, 5, 6, 7]
      .map((digits) => rest.length + digits)
      .find((n) => String(n).length === n - rest.length);
    return Buffer.concat([Buffer.from(String(length)), rest]);
  });
  return entry({ name: 'PaxHeader', type: 'x', content: Buffer.concat(lines) });
}

export const END = Buffer.alloc(2 * BLOCK);

/** Returns an archive with files, given their contents by name. */
export function createArchive(files: Record<string, string | Buffer>): Buffer {
  return Buffer.concat([...Object.entries(files).map(([name, content]) => entry({ name, content })), END]);
}

/** Streams `start` and then 10 GB of zeros. `read` returns the number of bytes consumed so far. */
export function tenGigabytes(start: Buffer): { stream: Readable; read(): number } {
  const zeros = Buffer.alloc(64 * 1024);
  let read = 0;
  async function* bytes() {
    for (let chunk = start; read < 10 * 1024 ** 3; chunk = zeros) {
      read += chunk.length;
      yield chunk;
    }
  }
  return { stream: Readable.from(bytes(), { objectMode: false }), read: () => read };
}
