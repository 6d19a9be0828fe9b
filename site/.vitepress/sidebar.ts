import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { API, PAGES, REPOSITORY } from './pages.ts';

/** Pages by kind and reader, in reading order. Other pages in `docs/` appear under *More*. */
const GUIDES: Record<string, string[]> = {
  Start: [
    'docs/tutorial.md',
    'docs/concepts.md',
    'docs/bad-day.md',
    'docs/team.md',
    'docs/production.md',
    'docs/troubleshooting.md',
  ],
  'Build agents': [
    'docs/agents.md',
    'docs/context.md',
    'docs/feed.md',
    'docs/webhooks.md',
    'docs/memory-per-user.md',
    'docs/keep-secrets-out.md',
    'docs/any-model.md',
    'docs/agent-frameworks.md',
    'clients/typescript/README.md',
    'clients/python/README.md',
    'clients/mcp/README.md',
    'docs/any-language.md',
    'docs/mounts.md',
    'docs/rights.md',
    'docs/sharing.md',
    'docs/drafts.md',
    'docs/folder-sync.md',
    'docs/memory-stores.md',
    'docs/costs.md',
  ],
  'Run the service': [
    'docs/lifecycle.md',
    'docs/command-line.md',
    'docs/health.md',
    'docs/console.md',
    'docs/sign-in.md',
    'docs/backup.md',
    'docs/upgrade.md',
    'docs/delete-a-user.md',
    'docs/incidents.md',
    'docs/kubernetes.md',
    'examples/kubernetes/README.md',
    'examples/monitoring/README.md',
    'docs/pgbouncer.md',
    'docs/scaling.md',
  ],
  Reference: [
    'docs/contract.md',
    'docs/contract-paths.md',
    'docs/contract-commands.md',
    'docs/contract-errors.md',
    'docs/contract-search.md',
    'docs/contract-mounts.md',
    'docs/contract-rights.md',
    'docs/errors.md',
    'docs/settings.md',
    'docs/cli.md',
    'docs/observability.md',
    'docs/admin-api.md',
  ],
  Explanation: [
    'docs/history.md',
    'docs/read-trail.md',
    'docs/provenance.md',
    'docs/idempotency.md',
    'docs/security.md',
    'docs/failures.md',
    'docs/capacity.md',
    'docs/design.md',
  ],
  Contributors: ['CONTRIBUTING.md', 'docs/writing.md', 'bench/RESULTS.md'],
  Releases: ['CHANGELOG.md', 'SECURITY.md'],
};

/** Titles for pages whose heading is too long for the sidebar. */
const SHORT_TITLES: Record<string, string> = {
  'docs/bad-day.md': 'A bad day',
  'docs/team.md': 'A team of agents',
  'docs/contract.md': 'The contract',
  'docs/context.md': 'Context',
  'docs/feed.md': 'Change feed',
  'docs/sharing.md': 'Sharing',
  'docs/webhooks.md': 'Webhooks',
  'clients/typescript/README.md': 'TypeScript client',
  'clients/python/README.md': 'Python client',
  'clients/mcp/README.md': 'MCP server',
  'docs/kubernetes.md': 'Kubernetes, with Helm',
  'examples/kubernetes/README.md': 'Kubernetes, without Helm',
  'SECURITY.md': 'Report a vulnerability',
};

function item(file: string) {
  const page = PAGES.get(file);
  if (page === undefined) throw new Error(`The sidebar names ${file}, which is no page.`);
  const heading = /^# (.*)$/m.exec(readFileSync(join(REPOSITORY, file), 'utf8'))?.[1];
  return {
    text: SHORT_TITLES[file] ?? heading?.replaceAll('`', '') ?? file,
    link: `/${page.replace(/\.md$/, '')}`,
  };
}

/** Returns the groups. All but the first are collapsed, except on their own pages. */
export function sidebar() {
  const listed = new Set(Object.values(GUIDES).flat());
  const groups = Object.entries(GUIDES).map(([reader, files]) => ({
    text: reader,
    collapsed: reader !== 'Start',
    items: files.map(item),
  }));
  const rest = [...PAGES.keys()].filter((file) => !listed.has(file) && file !== 'site/index.md');
  const decisions = rest.filter((file) => file.startsWith('docs/decisions/'));
  const more = rest.filter((file) => !decisions.includes(file));
  if (more.length > 0) groups.push({ text: 'More', collapsed: true, items: more.map(item) });
  const reference = API.map(({ title, link, pages }) => ({
    text: title,
    link,
    collapsed: true,
    items: pages.slice(1).map((page) => ({ text: page.title, link: page.link })),
  }));
  return [
    ...groups,
    { text: 'API reference', collapsed: true, items: reference },
    { text: 'Decisions', collapsed: true, items: decisions.map(item) },
  ];
}
