import { messageOf, RungUnavailable, type TestServer, within } from './server.ts';

const IMAGE = 'postgres:18';
// The container of a test run holds nothing worth keeping: durability off, data in memory.
const FAST = ['fsync=off', 'full_page_writes=off', 'max_connections=200'];

/**
 * Starts `postgres:18` in a container, if a Docker engine answers within a few seconds.
 *
 * Ryuk, testcontainers' own reaper, is off unless TESTCONTAINERS_RYUK_DISABLED says otherwise: it is one more image
 * to pull, and the keeper (keeper.ts) does its work here.
 *
 * @throws RungUnavailable when no engine answers, or the container cannot be started
 */
export async function startDocker(): Promise<TestServer> {
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true';
  const { getContainerRuntimeClient } = await import('testcontainers');
  try {
    await within(5_000, 'the Docker engine', getContainerRuntimeClient());
  } catch {
    throw new RungUnavailable('no Docker engine');
  }
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const container = new PostgreSqlContainer(IMAGE)
    .withCommand(['postgres', ...FAST.flatMap((setting) => ['-c', setting])])
    .withTmpFs({ '/var/lib/postgresql': 'rw' });
  const starting = container.start();
  try {
    const started = await within(60_000, `starting a ${IMAGE} container`, starting);
    return {
      url: started.getConnectionUri(),
      name: `testcontainers (${IMAGE})`,
      stop: async () => void (await started.stop()),
    };
  } catch (error) {
    // Whichever way it ends, a container that comes up after all is not left running.
    starting.then((late) => late.stop()).catch(() => {});
    throw new RungUnavailable(`Docker could not start ${IMAGE}: ${messageOf(error)}`);
  }
}
