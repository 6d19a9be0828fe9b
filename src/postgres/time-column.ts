/** A time as text: UTC, to the microsecond, always as long, so that texts compare as times do. */
export const time = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
