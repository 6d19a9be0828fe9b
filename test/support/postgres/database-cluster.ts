import pg from 'pg';
import { databaseUrl } from './test-server.ts';

/* Databases on a server or on all nodes in a Citus cluster. Citus does not create databases on its workers. */

/** Nodes in a Citus cluster, the coordinator first. A plain server has one node. */
export interface Cluster {
  isCitus: boolean;
  /** URLs that differ only in host and port. */
  nodes: string[];
}

/** Asks the server at `url` for its cluster's nodes. */
export async function findCluster(url: string): Promise<Cluster> {
  const extension = await query(url, "SELECT FROM pg_extension WHERE extname = 'citus'");
  if (extension.length === 0) return { isCitus: false, nodes: [url] };
  const workers = await query(
    url,
    'SELECT nodename, nodeport FROM pg_dist_node WHERE groupid > 0 ORDER BY groupid',
  );
  const nodes = workers.map(({ nodename, nodeport }) => {
    const node = new URL(url);
    node.hostname = String(nodename);
    node.port = String(nodeport);
    return node.href;
  });
  return { isCitus: true, nodes: [url, ...nodes] };
}

/**
 * Creates an empty database or a copy of another one. On Citus, the database has the extension and the registered
 * nodes.
 */
export async function createDatabase(cluster: Cluster, name: string, template = 'template0'): Promise<void> {
  // Copies the files. The default strategy also writes them to the write-ahead log.
  await onAllNodes(cluster, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  if (cluster.isCitus && template === 'template0') await addCitus(cluster, name);
}

/** Creates the extension in the databases with one name on all nodes in a cluster, and registers the nodes. */
export async function addCitus(cluster: Cluster, name: string): Promise<void> {
  const [coordinator = '', ...workers] = cluster.nodes.map((node) => databaseUrl(node, name));
  await Promise.all([coordinator, ...workers].map((node) => query(node, 'CREATE EXTENSION citus')));
  await query(coordinator, 'SELECT citus_set_coordinator_host($1, $2)', hostAndPort(coordinator));
  for (const worker of workers)
    await query(coordinator, 'SELECT citus_add_node($1, $2)', hostAndPort(worker));
}

/** Closes a database to connections, so that it can be copied. Connections from Citus would prevent the copy. */
export async function seal(cluster: Cluster, name: string): Promise<void> {
  await onAllNodes(cluster, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await onAllNodes(
    cluster,
    `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${name}'`,
  );
}

export async function dropDatabase(cluster: Cluster, name: string): Promise<void> {
  // Prevents Citus from connecting again before the drop.
  if (cluster.isCitus) await seal(cluster, name);
  await onAllNodes(cluster, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

async function onAllNodes({ nodes }: Cluster, sql: string): Promise<void> {
  await Promise.all(nodes.map((node) => query(node, sql)));
}

function hostAndPort(url: string): [string, string] {
  const { hostname, port } = new URL(url);
  return [hostname, port || '5432'];
}

export async function query(
  url: string,
  sql: string,
  parameters: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  // The running query rejects with the error.
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql, parameters)).rows;
  } finally {
    await client.end();
  }
}
