/**
 * `npm run bench -- compression`: measures the cost and the savings from Postgres' compression (pglz) for contents of
 * 1, 10, and 100 KB. Prints Postgres' CPU time for an edit and for a read, and the stored bytes, as Markdown.
 * docs/decisions/0013-compression.md has the conclusion.
 */
import { readFileSync } from 'node:fs';
import { withCleanup } from './support/cleanup.ts';
import { text } from './support/data.ts';
import { startPostgres } from './support/postgres.ts';

const ROWS = 50;
const ROUNDS = 20;

await withCleanup(async (scratch, later) => {
  const server = await startPostgres(scratch);
  later(() => server.stop());
  const { query } = await server.createDatabase();
  const pid = Number((await query('SELECT pg_backend_pid() AS pid'))[0]?.pid);
  /** The session's CPU time in µs. */
  const processorTime = () => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
  const timeRounds = async (sql: (round: number) => string) => {
    const before = processorTime();
    for (let round = 0; round < ROUNDS; round++) await query(sql(round));
    return (processorTime() - before) / ROUNDS / ROWS;
  };
  console.log(`${server.description}.\n`);
  console.log('| Content | Storage | Edit, µs | Read, µs | Bytes stored |');
  console.log('|--:|---|--:|--:|--:|');
  for (const size of [1024, 10_240, 102_400]) {
    for (const [storage, name] of [
      ['EXTENDED', 'pglz'],
      ['EXTERNAL', 'as it is'],
    ] as const) {
      await query('DROP TABLE IF EXISTS contents');
      await query('CREATE TABLE contents (id integer PRIMARY KEY, content text COLLATE "C")');
      await query(`ALTER TABLE contents ALTER content SET STORAGE ${storage}`);
      await query(
        `INSERT INTO contents SELECT n, '${text(size).replaceAll("'", "''")}' FROM generate_series(1, ${ROWS}) AS n`,
      );
      const edit = await timeRounds(
        (round) => `UPDATE contents SET content = convert_from(
          overlay(convert_to(content, 'UTF8') PLACING '${String(round).padStart(8, '0')}'::bytea FROM 20), 'UTF8')`,
      );
      const read = await timeRounds(() => `SELECT count(*) FROM contents WHERE md5(content) = ''`);
      const [stored] = await query('SELECT avg(pg_column_size(content))::integer AS bytes FROM contents');
      console.log(`| ${size} | ${name} | ${edit.toFixed(0)} | ${read.toFixed(0)} | ${stored?.bytes} |`);
    }
  }
});
