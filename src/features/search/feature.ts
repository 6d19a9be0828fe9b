import { operationsIn } from '../../core/admin/operation.ts';
import type { Feature } from '../../core/feature.ts';
import { searchCommand } from './cli.ts';
import * as operations from './operations.ts';

/** Search of memories by words, texts, and expressions. */
export const search: Feature = {
  name: 'search',
  uses: [],
  operations: operationsIn(operations),
  commands: [searchCommand],
  async start({ services }) {
    const { searchRoute, searchTool } = await import('./route.ts');
    return {
      tool: searchTool(services),
      agentRoutes: (app) => searchRoute(app, services),
    };
  },
};
