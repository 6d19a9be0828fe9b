import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { startSharedService } from '../support/test-service.ts';

const read = (name: string) =>
  readFileSync(new URL(`../../examples/monitoring/${name}`, import.meta.url), 'utf8');

interface Dashboard {
  panels: { targets: { expr: string }[] }[];
  templating: { list: { query: string }[] };
}

function expressions(): string[] {
  const { panels, templating } = JSON.parse(read('grafana-dashboard.json')) as Dashboard;
  const { groups } = parse(read('alerts.yaml')) as { groups: { rules: { expr: string }[] }[] };
  return [
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    // label_values(metric, label)
    ...templating.list.flatMap(({ query }) => /\((.*),/.exec(query)?.[1] ?? []),
    ...groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
  ];
}

/** Returns the metrics in a PromQL expression: names that are not labels, functions, or durations. */
function metricNames(expression: string): string[] {
  const bare = expression.replaceAll(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)|\bby(?= *\()/g, ' ');
  return [...bare.matchAll(/\b[a-z_][a-z0-9_]*\b(?! *\()/g)].map(([name]) => name);
}

it('finds the metric names in a Prometheus expression', () => {
  expect(
    metricNames('sum by (le) (rate(a_bucket{job="x", le=~"y"}[5m])) / min_over_time(b[1h:5m]) > 0.5'),
  ).toStrictEqual(['a_bucket', 'b']);
});

it('uses all metrics from the service, and no others, in the dashboard and the alerts', async () => {
  const service = await startSharedService('postgres');
  const { body } = await service.app.inject({ url: '/metrics' });
  await service.close();
  const offered = [...body.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) =>
    type === 'histogram' ? `${name}_bucket` : name,
  );
  const used = new Set(expressions().flatMap(metricNames));
  // Prometheus itself creates the metric `up`.
  expect([...used].filter((name) => name !== 'up' && !offered.includes(name))).toStrictEqual([]);
  const own = offered.filter((name) => /^(memory|http)_/.test(name));
  expect(own.length).toBeGreaterThan(7);
  expect(own.filter((name) => !used.has(name))).toStrictEqual([]);
});
