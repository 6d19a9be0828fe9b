/**
 * Makes backups while clients write, and restores them with the commands in docs/backup.md. Every file must be restored
 * byte for byte, and the service must run on the restored database.
 */
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { oddText } from '../support/faults/odd-texts.ts';
import { documentedCommands, findTools, Operator, type Tools } from '../support/faults/operator.ts';
import { PostgresServer } from '../support/faults/postgres-server.ts';
import { Replica } from '../support/faults/replica.ts';
import type { TimeSpan, Workload } from '../support/faults/workload.ts';
import { asNobody } from '../support/postgres/binaries.ts';
import { post } from '../support/process.ts';
import { cmd } from '../support/step-table.ts';
import {
  becomesTrue,
  checkPglite,
  checkPostgres,
  type Environment,
  LIMITS,
  workloadOn,
} from './environment.ts';
import { Row } from './fault-report.ts';

const DATABASE = 'memory';
const TENANTS = ['acme', 'globex'];

/** A Postgres server, a service, clients that write, and an operator. */
interface Site {
  postgres: PostgresServer;
  replica: Replica;
  workload: Workload;
  operator: Operator;
}

/** State that a restore must reproduce. */
interface Backup {
  span: TimeSpan;
  /** Number of writes acknowledged before the backup. */
  written: number;
}

export const backupByDump = (environment: Environment) =>
  repeatOnSite(environment, 'backup: pg_dump during writes, then restore', async (site, row) => {
    const { replica, workload, operator } = site;
    const [dump = '', ...restore] = commands(documentedCommands('A dump')[0]);
    await workload.acknowledge(800);
    const backup = await takeWhileWriting(site, row, () => operator.run(dump));
    await workload.acknowledge(100);
    await workload.stop();
    await replica.end();
    const started = performance.now();
    await operator.run(restore.join('\n'));
    await checkRestored(site, 'restored', backup, row, started);
  });

export const backupToAPointInTime = (environment: Environment) => recoverToTime(environment, 'stopped');
export const backupToAPointInTimeAfterACrash = (environment: Environment) =>
  recoverToTime(environment, 'killed');

function recoverToTime(environment: Environment, end: 'stopped' | 'killed'): Promise<Row> {
  const name = `backup: pg_basebackup during writes, server ${end}, then point-in-time recovery`;
  return repeatOnSite(environment, name, async (site, row) => {
    const { postgres, replica, workload, operator } = site;
    const [, copy = '', recovery = ''] = documentedCommands('To a point in time');
    await workload.acknowledge(400);
    await takeWhileWriting(site, row, () => operator.run(copy));
    await workload.acknowledge(200);
    const [written, from] = [workload.acknowledged, performance.now()];
    const [noted] = await postgres.query('SELECT clock_timestamp()::text AS time');
    const backup = { written, span: { from, until: performance.now() } };
    row.count('acknowledged before the time', written);
    // Few writes, so that most of this WAL is not archived yet.
    await workload.acknowledge(20);
    await workload.stop();
    await deleteAll(site, row);
    const started = performance.now();
    await replica.end();
    await (end === 'stopped' ? postgres.stop() : postgres.kill('all'));
    const lines = recovery.replace(/(recovery_target_time = ).*/, `$1'${noted?.time}'`).split('\n');
    const isInRecovery = lines.pop() ?? '';
    try {
      await operator.run(lines.join('\n'));
      const done = await becomesTrue(60_000, async () => (await operator.run(isInRecovery)) === 'f');
      row.expect(done, 'the recovery did not finish');
      await checkRestored(site, DATABASE, backup, row, started);
    } finally {
      await operator.run('pg_ctl -D /backup/full -m immediate -w stop').catch(() => {});
    }
  });
}

export async function backupOfPglite({ scratch, option }: Environment): Promise<Row> {
  const row = new Row('backup: copy of the PGlite directory');
  const copyCommands = commands(documentedCommands('PGlite')[0]).join('\n');
  for (row.times = 0; row.times < option('BACKUPS', 1); row.times++) {
    const directory = join(scratch, `backup-pglite-${row.times}`);
    await mkdir(directory);
    const replica = await Replica.create({ DATA_DIR: join(directory, 'data'), ...LIMITS });
    await replica.start();
    // The service stops during writes, and clients that fail then do not retry.
    const options = { tenants: TENANTS, clientsPerTenant: 2, text: oddText };
    const workload = workloadOn(replica, { ...options, mayBreak: true, abandon: 1 });
    workload.start();
    await workload.acknowledge(200);
    const [code] = await Promise.all([replica.end(), workload.stop()]);
    row.expect(code === 0, `the service exited with ${code}`);
    const started = performance.now();
    await new Operator(directory, { DATA_DIR: 'data' }).run(copyCommands);
    const copy = join(directory, 'copy');
    const second = await Replica.create({ DATA_DIR: copy, ...LIMITS });
    await second.start();
    row.noteRecovery(performance.now() - started);
    const more = workloadOn(second, { clientsPerTenant: 2, text: oddText });
    more.start();
    await more.acknowledge(40);
    await more.stop();
    await second.end();
    await checkPglite(copy, workload, row);
    await checkPglite(copy, more, row);
    countCompared(workload, row);
  }
  return row;
}

/** Runs `work` BACKUPS times, each time on a new server with WAL archiving. */
async function repeatOnSite(
  { scratch, binaries, option }: Environment,
  name: string,
  work: (site: Site, row: Row) => Promise<void>,
): Promise<Row> {
  const row = new Row(name);
  const tools = await findTools(binaries);
  if (typeof tools === 'string') {
    row.skipped = tools;
    return row;
  }
  row.notes.push(`PostgreSQL ${tools.version}`);
  for (row.times = 0; row.times < option('BACKUPS', 1); row.times++) {
    const directory = join(scratch, `${name.replace(/\W+/g, '-')}-${row.times}`);
    const postgres = await PostgresServer.create({ binaries: tools.server, directory });
    const operator = createOperator(postgres, directory, tools);
    try {
      await configure(postgres, operator);
      await postgres.query(`CREATE DATABASE ${DATABASE}`);
      const url = postgres.url(postgres.port, DATABASE);
      const replica = await Replica.create({ DATABASE_URL: url, ...LIMITS });
      await replica.start();
      const workload = workloadOn(replica, { tenants: TENANTS, text: oddText });
      workload.start();
      await work({ postgres, replica, workload, operator }, row);
    } finally {
      await postgres.stop('immediate');
    }
  }
  return row;
}

function createOperator(postgres: PostgresServer, directory: string, { path }: Tools): Operator {
  const { password, port } = new URL(postgres.url());
  const url = postgres.url(postgres.port, DATABASE);
  const substitutions = {
    'postgres://postgres:…@HOST/': postgres.url(postgres.port, ''),
    HOST: '127.0.0.1',
    '/archive': join(directory, 'archive'),
    '/backup': join(directory, 'backup'),
    '/data': postgres.data,
  };
  const env = { PATH: path, PGPORT: port, PGPASSWORD: password, DATABASE_URL: url };
  return new Operator(directory, env, substitutions, asNobody);
}

/** Returns the commands in a block, except those that start the service, because a `Replica` does that. */
const commands = (block = '') => block.split('\n').filter((line) => !line.includes('memory-service'));

/**
 * Writes the settings from the document and from our command line to postgresql.conf, so that a base backup includes
 * them.
 */
async function configure(postgres: PostgresServer, operator: Operator): Promise<void> {
  const [settings = ''] = documentedCommands('To a point in time');
  const ours = `port = ${postgres.port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''`;
  await operator.run('mkdir /archive /backup');
  await appendFile(join(postgres.data, 'postgresql.conf'), `\n${operator.translate(settings)}\n${ours}\n`);
  await postgres.stop();
  await postgres.start();
}

async function takeWhileWriting({ workload }: Site, row: Row, take: () => Promise<unknown>): Promise<Backup> {
  const written = workload.acknowledged;
  const from = performance.now();
  await take();
  const until = performance.now();
  row.expect(workload.acknowledged > written, 'nothing was written during the backup');
  row.count('acknowledged before the backup', written);
  row.count('acknowledged during the backup', workload.acknowledged - written);
  return { span: { from, until }, written };
}

/** Simulates an accident: somebody deletes all files in a tenant. */
async function deleteAll({ postgres, replica }: Site, row: Row): Promise<void> {
  const [tenant = ''] = TENANTS;
  const rest = async () => {
    const sql = `SELECT path FROM entries WHERE tenant_id = $1 AND parent_path = '/memories'`;
    return await postgres.query(sql, [tenant], DATABASE);
  };
  for (const { path } of await rest()) await post(replica.url, cmd.delete(path), { 'x-tenant-id': tenant });
  row.expect((await rest()).length === 0, 'the accident left some files');
}

/** Checks that the service starts on the restored database, finds a state from within `span`, and accepts writes. */
async function checkRestored(
  { postgres, workload }: Site,
  database: string,
  { span, written }: Backup,
  row: Row,
  started: number,
): Promise<void> {
  const url = postgres.url(postgres.port, database);
  const replica = await Replica.create({ DATABASE_URL: url, ...LIMITS });
  await replica.start();
  row.noteRecovery(performance.now() - started);
  await checkPostgres(url, workload, row, span);
  countCompared(workload, row);
  // The restore must include the idempotency keys. Otherwise, a retry would apply a write twice.
  const [keys] = await postgres.query('SELECT count(*)::int AS n FROM idempotency_keys', [], database);
  row.expect(keys?.n >= written, `${keys?.n} idempotency keys for ${written} writes`);
  const more = workloadOn(replica, { text: oddText });
  more.start();
  await more.acknowledge(50);
  await more.stop();
  await checkPostgres(url, more, row);
  await replica.end();
}

function countCompared({ compared: { files, bytes } }: Workload, row: Row): void {
  row.count('files compared', files);
  row.count('bytes in them', bytes);
}
