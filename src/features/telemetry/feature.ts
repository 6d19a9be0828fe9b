import type { Feature } from '../../core/feature.ts';

/** Traces and audit events for a collector. `server.ts` and `local-caller.ts` start it by name, before the core. */
export const telemetry: Feature = { name: 'telemetry', uses: [] };
