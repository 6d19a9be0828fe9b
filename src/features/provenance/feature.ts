import type { Feature } from '../../core/feature.ts';

/** Provenance in results: who wrote each line last, and when. */
export const provenance: Feature = {
  name: 'provenance',
  uses: [],
  async start({ services }) {
    const { LineProvenance } = await import('./line-provenance.ts');
    const lineProvenance = new LineProvenance(services);
    services.provenance = services.featureService(() => lineProvenance);
    return {};
  },
};
