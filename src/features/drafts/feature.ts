import type { Feature } from '../../feature.ts';

/** Working copies of a memory, which are reviewed and merged. */
export const drafts: Feature = {
  name: 'drafts',
  uses: [],
  async start({ config, database, services, log }) {
    const [{ DraftRedirect }, { Proposals }, { expireDrafts }] = await Promise.all([
      import('./redirect.ts'),
      import('./proposals.ts'),
      import('./close.ts'),
    ]);
    return {
      redirect: new DraftRedirect(new Proposals(database, config), services.policies),
      jobs: {
        async drafts() {
          const expired = await expireDrafts(database, config);
          if (expired && expired.expired > 0) log.info(expired, 'closed unused drafts');
        },
      },
    };
  },
};
