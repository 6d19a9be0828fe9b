import type { Feature } from '../../core/feature.ts';

/** `POST /mcp`: the memory as tools and resources for the Model Context Protocol. */
export const mcp: Feature = {
  name: 'mcp',
  uses: [],
  async start({ config, services }) {
    if (config.MCP !== 'on') return {};
    const [{ mcpRoute }, { protectedResourceRoutes }] = await Promise.all([
      import('./mcp-route.ts'),
      import('./protected-resource.ts'),
    ]);
    return {
      agentRoutes: (app) => mcpRoute(app, services),
      openRoutes: (app) => protectedResourceRoutes(app, { config }),
    };
  },
};
