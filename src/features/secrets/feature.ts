import type { Feature } from '../../core/feature.ts';

/** Secret detection in texts. The core masks or rejects the findings, and gets the scanner from the service. */
export const secrets: Feature = { name: 'secrets', uses: [] };
