import type { Feature } from '../../core/feature.ts';

/** Sign-in to the console with an identity provider, and the first admin key. `admin-app.ts` calls it by name. */
export const signIn: Feature = { name: 'sign-in', uses: [] };
