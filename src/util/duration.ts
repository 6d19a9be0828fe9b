export const DAY_MS = 24 * 60 * 60_000;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 60 * 60_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
};

/** The milliseconds of `500ms`, `30s`, `90m`, `2h`, `3d`, or `1w`; undefined for another text. */
export function parseDuration(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d{1,6})(ms|[smhdw])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  return unitMs === undefined ? undefined : Number(amount) * unitMs;
}
