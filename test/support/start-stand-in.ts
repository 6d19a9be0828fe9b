import { startProcess } from './process.ts';

/** Starts the tutorial's stand-in for the Messages API on a free port, or on the given one. */
export async function startStandIn(port = '0'): Promise<{ url: string; stop(): Promise<void> }> {
  const args = ['--import', 'tsx', 'examples/stand-in-api.ts'];
  const standIn = startProcess(process.execPath, args, { STAND_IN_PORT: port });
  const [url] = await standIn.line(/http:\S+/);
  return {
    url,
    stop: async () => {
      standIn.child.kill();
      await standIn.exit;
    },
  };
}
