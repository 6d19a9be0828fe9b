import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import { invitationCommands, shareCommands } from './cli/sharing-commands.ts';
import * as operations from './sharing-operations.ts';

/** Sharing without an operator: a tenant's key invites, and another tenant's key accepts and gets a mount. */
export const sharing: Feature = {
  name: 'sharing',
  uses: [],
  operations: operationsIn(operations),
  commands: [invitationCommands, shareCommands],
  async start({ config, database, services }) {
    const [
      { sharingRoutes },
      { agentSharing },
      { sharingTool },
      { pruneInvitations },
      { endMismatchedShares },
    ] = await Promise.all([
      import('./sharing-routes.ts'),
      import('./agent-sharing.ts'),
      import('./sharing-tool.ts'),
      import('./invitations.ts'),
      import('./shares.ts'),
    ]);
    const run = agentSharing(config, services);
    return {
      tool: sharingTool(config, run),
      agentRoutes: (app) => sharingRoutes(app, run),
      hourly: {
        invitations: () => pruneInvitations(database),
        mismatched_shares: () => endMismatchedShares(database, config),
      },
    };
  },
};
