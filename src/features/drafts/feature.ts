import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import * as comments from './admin/comment-operations.ts';
import * as draftOperations from './admin/draft-operations.ts';
import * as merge from './admin/merge-operations.ts';
import * as review from './admin/review-operations.ts';
import { draftCommands } from './cli/draft-commands.ts';

/** Working copies of a memory, which are reviewed and merged. */
export const drafts: Feature = {
  name: 'drafts',
  uses: ['secrets'],
  operations: operationsIn(comments, draftOperations, merge, review),
  commands: [draftCommands],
  async start({ config, database, services, log }) {
    const [{ DraftRedirect }, { Proposals }, { expireDrafts }] = await Promise.all([
      import('./draft-redirect.ts'),
      import('./proposals.ts'),
      import('./close.ts'),
    ]);
    return {
      redirect: new DraftRedirect(new Proposals(database, config), services.policies),
      hourly: {
        async drafts() {
          const expired = await expireDrafts(database, config);
          if (expired && expired.expired + expired.rejected > 0) log.info(expired, 'closed unused drafts');
        },
      },
    };
  },
};
