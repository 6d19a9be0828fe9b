import type { Lean } from './lean.ts';
import { type Cell, type Results, ratio } from './results.ts';
import { describeWorkload, type Workload, workloads } from './workloads.ts';

const formatNumber = (value: number, digits = 0) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
const markdownTable = (head: string[], rows: string[][]) =>
  [row(head), row(head.map((_, i) => (i === 0 ? '---' : '---:'))), ...rows.map(row)].join('\n');

const describeSettings = (settings: Results['settings']) =>
  Object.entries(settings)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
const describeContestants = ({ contestants }: Results) =>
  contestants
    .map(({ id, name, keptEdits }) => `- **${id}**: ${name}${keptEdits ? `; ${keptEdits}` : ''}`)
    .join('\n');
const describeRatio =
  'Ratios are of requests per second, and medians of the ratios in each round. Above 1, the service is faster.';

/** Returns the report for a run with one delay and one number of connections. */
export function renderMarkdown(results: Results): string {
  const { cells, targets, lean, settings } = results;
  const measured = workloads.flatMap((workload) =>
    cells
      .filter((cell) => cell.workload === workload)
      .map((cell, i) => [
        i === 0 ? describeWorkload[workload] : '',
        cell.id,
        formatNumber(cell.rate),
        formatNumber(cell.p50, 2),
        formatNumber(cell.p99, 2),
        Number.isNaN(cell.processor) ? '' : formatNumber(cell.processor),
        cell.id === 'S' ? '' : formatNumber(ratio(cells, workload, ['S', cell.id]) ?? Number.NaN, 2),
        formatNumber(cell.failures),
      ]),
  );
  const parts = [
    `# Bench of ${results.date}`,
    `${results.machine}. ${results.postgres}. ${describeSettings(settings)}.`,
    results.delays,
    describeContestants(results),
    `Medians over alternating rounds. ${describeRatio} CPU µs is the processor time of the server process per request, without Postgres. Each connection cycles through its own tenants; \`npm run bench -- compare\` uses one tenant and one file for all. Every response is checked, and any that is not 2xx with \`is_error: false\` is a failure. The service runs with the default configuration, RATE_LIMIT_PER_MINUTE=0, and a log file. A turn in which the hypervisor took more than MAX_STEAL of the processor time is repeated, up to MAX_ATTEMPTS times, unless it had failures.`,
    markdownTable(
      ['Workload', 'Contestant', 'Requests/s', 'p50 ms', 'p99 ms', 'CPU µs', 'S ÷ it', 'Failures'],
      measured.map((line) => line.map(String)),
    ),
    markdownTable(
      ['Target', 'Required', 'Measured', ''],
      targets.map(({ name, aim, reached, met }) => [
        name,
        aim,
        formatNumber(reached, 2),
        met ? 'yes' : '**no**',
      ]),
    ),
  ];
  if (lean) parts.push(leanTable(lean));
  return `${parts.join('\n\n')}\n`;
}

/** Returns the report for a run with several delays or numbers of connections, with a line for each combination. */
export function renderGrid(all: readonly Results[]): string {
  const [first] = all;
  if (first === undefined) return '';
  const { CONNECTIONS: _, FSYNC_MS: __, ...shared } = first.settings;
  const others = first.contestants.map(({ id }) => id).filter((id) => id !== 'S');
  const workloadLines = (workload: Workload) =>
    all.map(({ cells, settings }) => {
      const own = cells.filter((cell) => cell.workload === workload);
      const service = own.find(({ id }) => id === 'S');
      return [
        describeWorkload[workload],
        String(settings.FSYNC_MS),
        String(settings.CONNECTIONS),
        formatNumber(service?.rate ?? Number.NaN),
        formatNumber(service?.p99 ?? Number.NaN, 2),
        ...others.map((id) => formatNumber(ratio(cells, workload, ['S', id]) ?? Number.NaN, 2)),
        formatNumber(own.reduce((sum, { failures }) => sum + failures, 0)),
      ];
    });
  const measured = workloads.filter((each) => first.cells.some(({ workload }) => workload === each));
  const ratios = others.map((id) => `S ÷ ${id}`);
  const parts = [
    `# Bench of ${first.date}`,
    `${first.machine}. ${first.postgres}. ${describeSettings(shared)}.`,
    all.map(({ settings, delays }) => `- ${settings.CONNECTIONS} connections. ${delays}`).join('\n'),
    describeContestants(first),
    `Medians over alternating rounds. ${describeRatio}`,
    markdownTable(
      ['Workload', 'FSYNC_MS', 'Connections', 'S requests/s', 'S p99 ms', ...ratios, 'Failures'],
      measured.flatMap(workloadLines),
    ),
  ];
  return `${parts.join('\n\n')}\n`;
}

function leanTable(lean: Lean): string {
  const formatMegabytes = (bytes: number | undefined) =>
    bytes === undefined ? 'unknown' : `${formatNumber(bytes / 2 ** 20, 1)} MiB`;
  return markdownTable(
    ['Footprint', 'Target', 'Measured'],
    [
      ['Process start to ready, on Postgres', '< 1 s', `${formatNumber(lean.startOnPostgresMs)} ms`],
      [
        'Process start to ready, on an existing PGlite directory',
        '< 2 s',
        `${formatNumber(lean.startOnPgliteMs)} ms`,
      ],
      ['Resident memory at idle', '', formatMegabytes(lean.idleBytes)],
      ['Resident memory under the mix, highest', '< 150 MB', formatMegabytes(lean.mixBytes)],
      [
        'Production dependencies, direct (with theirs)',
        '',
        `${lean.directDependencies} (${lean.allDependencies})`,
      ],
      ['Size of `npm ci --omit=dev`', '', formatMegabytes(lean.installedBytes)],
      ['Size of the image', '', formatMegabytes(lean.imageBytes)],
    ],
  );
}

const COLORS: Record<Cell['id'], string> = {
  S: '#2563eb',
  I: '#60a5fa',
  N: '#93c5fd',
  P: '#a78bfa',
  A: '#dc2626',
  B: '#d97706',
  C1: '#9ca3af',
  C2: '#6b7280',
  F: '#16a34a',
  H: '#0891b2',
  D: '#be185d',
  M: '#4d7c0f',
  G: '#854d0e',
};

/** Draws requests per second as bars, with a separate scale for each workload. */
export function renderChart({ cells, contestants }: Results): string {
  const BAR = 14;
  const WIDTH = 640;
  const LEFT = 40;
  const parts: string[] = [];
  let y = 10;
  for (const workload of workloads) {
    const own = cells.filter((cell) => cell.workload === workload);
    if (own.length === 0) continue;
    const most = Math.max(...own.map(({ rate }) => rate));
    parts.push(`<text x="4" y="${y + 12}" font-weight="bold">${describeWorkload[workload]}</text>`);
    y += 18;
    for (const { id, rate } of own) {
      const width = Math.max(1, Math.round(((WIDTH - LEFT - 80) * rate) / most));
      parts.push(
        `<text x="${LEFT - 6}" y="${y + 11}" text-anchor="end">${id}</text><rect x="${LEFT}" y="${y}" width="${width}" height="${BAR - 2}" fill="${COLORS[id]}"/><text x="${LEFT + width + 5}" y="${y + 11}">${formatNumber(rate)}</text>`,
      );
      y += BAR;
    }
    y += 8;
  }
  for (const { id, name } of contestants) {
    parts.push(
      `<rect x="4" y="${y + 2}" width="10" height="10" fill="${COLORS[id]}"/><text x="20" y="${y + 11}">${id}: ${name}</text>`,
    );
    y += 15;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y + 6}" font-family="sans-serif" font-size="11"><title>Requests per second</title><rect width="100%" height="100%" fill="#fff"/>\n${parts.join('\n')}\n</svg>\n`;
}
