import type { Feature } from '../../core/feature.ts';
import { addDraftComment, deleteDraftComment, listDraftComments } from './admin/comments.ts';
import { createTenantDraft, getDraft, listAllDrafts, listDrafts, rejectDraft } from './admin/drafts.ts';
import { mergeTenantDraft, replaceByTenantDraft } from './admin/merge.ts';
import { compareTenantDraft, diffDraft } from './admin/review.ts';
import { registerDraftCommands } from './cli.ts';

/** Working copies of a memory, which are reviewed and merged. */
export const drafts: Feature = {
  name: 'drafts',
  uses: ['secrets'],
  operations: [
    addDraftComment,
    deleteDraftComment,
    listDraftComments,
    mergeTenantDraft,
    replaceByTenantDraft,
    compareTenantDraft,
    diffDraft,
    createTenantDraft,
    getDraft,
    listAllDrafts,
    listDrafts,
    rejectDraft,
  ],
  commands: registerDraftCommands,
  async start({ config, database, services, log }) {
    const [{ DraftRedirect }, { Proposals }, { expireDrafts }] = await Promise.all([
      import('./redirect.ts'),
      import('./proposals.ts'),
      import('./close.ts'),
    ]);
    return {
      redirect: new DraftRedirect(new Proposals(database, config), services.policies),
      hourly: {
        async drafts() {
          const expired = await expireDrafts(database, config);
          if (expired && expired.expired > 0) log.info(expired, 'closed unused drafts');
        },
      },
    };
  },
};
