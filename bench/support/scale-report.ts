import type { JobRow } from './scale-jobs.ts';

/** A thousand files, all files, and the largest tenant among them. */
export const FIXTURES = ['small', 'large', 'largest'] as const;
export type Fixture = (typeof FIXTURES)[number];

/** A call's median times in milliseconds: for the first calls in tenants or directories, and for the further calls. */
export type Row = { name: string } & Record<Fixture, { cold: number; warm: number }>;

export interface ScaleResults {
  date: string;
  postgres: string;
  files: number;
  rows: Row[];
  /** Files per second, by the number of files in the directory. */
  moves: { files: number; rename: number; delete: number }[];
  jobs: JobRow[];
  starts: { small: number; large: number };
}

const RATIO = 1.3;
const FILES_PER_SECOND = 20_000;

export function scaleMarkdown({ date, postgres, files, rows, moves, jobs, starts }: ScaleResults): string {
  const formatCount = (n: number) => Math.round(n).toLocaleString('en-US');
  const formatRatio = (value: number, base: number) =>
    `${(value / base).toFixed(2)}${value / base <= RATIO ? '' : ' **missed**'}`;
  const formatSpeed = (rate: number) =>
    `${formatCount(rate)}${rate >= FILES_PER_SECOND ? '' : ' **missed**'}`;
  const largest = formatCount(files / 10);
  return `# Scale, ${date}

${postgres}. Medians of single calls of the store, in milliseconds, without HTTP: of the first call in each tenant or, in the largest tenant, in each directory (cold), and of three further calls (warm). Target of warm calls: at most ${RATIO} times.

| Call | 1,000 files: warm | ${formatCount(files)} files: cold | warm | times | tenant with ${largest}: cold | warm | times |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
${rows
  .map(({ name, small, large, largest }) => {
    const cells = [large, largest].flatMap(({ cold, warm }) => [
      cold.toFixed(2),
      warm.toFixed(2),
      formatRatio(warm, small.warm),
    ]);
    return `| ${name} | ${small.warm.toFixed(2)} | ${cells.join(' | ')} |`;
  })
  .join('\n')}
| start until ready | ${formatCount(starts.small)} | | ${formatCount(starts.large)} | ${formatRatio(starts.large, starts.small)} | | | |

Files per second. Target: at least ${formatCount(FILES_PER_SECOND)}, at any size.

| Directory of | rename | delete |
| --- | ---: | ---: |
${moves.map((each) => `| ${formatCount(each.files)} files | ${formatSpeed(each.rename)} | ${formatSpeed(each.delete)} |`).join('\n')}

Work on all ${formatCount(files)} files, one at a time, and its strongest lock on a table.

| | ms | lock |
| --- | ---: | --- |
${jobs.map(({ name, ms, lock }) => `| ${name} | ${formatCount(ms)} | ${lock} |`).join('\n')}
`;
}
