import type { Feature } from '../../core/feature.ts';

/** Anthropic's API for hosted memory stores, on this service's tenants. */
export const memoryStores: Feature = {
  name: 'memory-stores',
  uses: [],
  async start({ services }) {
    const [{ memoryStoreRoutes }, { STORES_PREFIX }] = await Promise.all([
      import('./store-routes.ts'),
      import('./store-errors.ts'),
    ]);
    return {
      async agentRoutes(app) {
        await app.register((stores) => memoryStoreRoutes(stores, services), { prefix: STORES_PREFIX });
      },
    };
  },
};
