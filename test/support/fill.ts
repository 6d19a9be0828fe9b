const PATHS =
  "(SELECT n, '/memories/d' || n % 10 || '/f' || n AS path FROM generate_series(1, $2::integer) AS n) AS f";

const CALLS = [
  "memory_create($1, path, repeat(md5(path), 53), md5('1' || path)::uuid, true, '{}', 'c' || n, 'r', 'answer', 0, 0, true)",
  "memory_write($1, path, md5('1' || path)::uuid, 0, 4, 'edit', md5('2' || path)::uuid, '{}', 'w' || n, 'r', 'answer', 0, 30, 0, true)",
];

/** Statements that fill the tenant $1 with $2 files of 1,700 incompressible bytes and edit each file once. */
export const FILL: readonly string[] = CALLS.map(
  (call) =>
    `SELECT count(*) FILTER (WHERE done.outcome IN ('created', 'written'))::integer AS done FROM ${PATHS}, ${call} AS done`,
);
