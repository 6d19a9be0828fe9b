import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import { searchCommand } from './cli/search-command.ts';
import * as operations from './search-operations.ts';

/** Memory search by words, texts, and expressions. */
export const search: Feature = {
  name: 'search',
  uses: [],
  operations: operationsIn(operations),
  commands: [searchCommand],
  async start({ services }) {
    const { searchRoute, searchTool } = await import('./search-route.ts');
    return {
      tool: searchTool(services),
      agentRoutes: (app) => searchRoute(app, services),
    };
  },
};
