import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import * as operations from './changes-operation.ts';
import { changesCommand } from './cli/changes-command.ts';

/** The change feed: a tenant's changes in order, from a position on. */
export const feed: Feature = {
  name: 'feed',
  uses: [],
  operations: operationsIn(operations),
  commands: [changesCommand],
  async start({ services }) {
    const { changesRoute } = await import('./changes-route.ts');
    return { agentRoutes: (app) => changesRoute(app, services) };
  },
};
