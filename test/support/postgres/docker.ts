import { causeText, type Setup, SourceUnavailable, type TestServer, withTimeLimit } from './test-server.ts';

/** `scripts/pin-images.ts` updates the digest. */
const IMAGE =
  process.env.POSTGRES_IMAGE ||
  'postgres:18@sha256:4ef4dbc939d61acea57712655ddb4b4ab27419c913f94cca0cd57cb3ea3c2280';
/** Docker's default, 64 MiB, is too small for Postgres. */
const SHARED_MEMORY_BYTES = 2 ** 30;

/**
 * Starts PostgreSQL 18 in a container if a Docker engine responds within a few seconds.
 *
 * Ryuk, the reaper in testcontainers, is disabled unless TESTCONTAINERS_RYUK_DISABLED is set. It is an additional image
 * to pull, and the supervisor (supervisor.ts) already cleans up.
 *
 * @throws SourceUnavailable if no engine responds or the container does not start
 */
export async function startDocker(_scratch: string, { settings, inMemory }: Setup): Promise<TestServer> {
  process.env.TESTCONTAINERS_RYUK_DISABLED ??= 'true';
  const { getContainerRuntimeClient } = await import('testcontainers');
  try {
    await withTimeLimit(5_000, 'the Docker engine', getContainerRuntimeClient());
  } catch {
    throw new SourceUnavailable('no Docker engine');
  }
  const { PostgreSqlContainer } = await import('@testcontainers/postgresql');
  const container = new PostgreSqlContainer(IMAGE)
    .withCommand(['postgres', ...settings.flatMap((setting) => ['-c', setting])])
    .withSharedMemorySize(SHARED_MEMORY_BYTES);
  if (inMemory) container.withTmpFs({ '/var/lib/postgresql': 'rw' });
  const starting = container.start();
  try {
    const started = await withTimeLimit(60_000, `starting a ${IMAGE} container`, starting);
    return {
      url: started.getConnectionUri(),
      name: `testcontainers (${IMAGE})`,
      stop: async () => void (await started.stop()),
    };
  } catch (error) {
    // Stops the container even if it starts after the time limit.
    starting.then((late) => late.stop()).catch(() => {});
    throw new SourceUnavailable(`Docker could not start ${IMAGE}: ${causeText(error)}`);
  }
}
