import type { Feature } from '../../feature.ts';

/** Search of memories by words, texts, and expressions. */
export const search: Feature = {
  name: 'search',
  uses: [],
  async start({ services }) {
    const { searchRoute, searchTool } = await import('../../agents/search.ts');
    return {
      tool: searchTool(services),
      agentRoutes: (app) => searchRoute(app, services),
    };
  },
};
