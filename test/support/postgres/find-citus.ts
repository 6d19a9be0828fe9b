import { SourceUnavailable, type TestServer } from './test-server.ts';

/** Finds the Citus cluster at TEST_CITUS_URL. */
export async function findCitus(): Promise<TestServer> {
  const url = process.env.TEST_CITUS_URL;
  if (!url) {
    throw new SourceUnavailable(
      'TEST_CITUS_URL unset: start a cluster with scripts/citus-cluster start, and set it to the URL that the script prints',
    );
  }
  return { url, name: 'TEST_CITUS_URL', isKept: true, stop: async () => {} };
}
