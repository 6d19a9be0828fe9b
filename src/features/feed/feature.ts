import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import * as operations from './changes-operation.ts';
import { changesCommand } from './cli/changes-command.ts';

/** The change feed: a tenant's changes in order, from a position on. Maintains all tenants' change log. */
export const feed: Feature = {
  name: 'feed',
  uses: [],
  operations: operationsIn(operations),
  commands: [changesCommand],
  async start({ config, database, services }) {
    const [{ changesRoute }, { changeFeed }, { FleetLog }] = await Promise.all([
      import('./changes-route.ts'),
      import('./change-feed.ts'),
      import('./fleet-log.ts'),
    ]);
    // A request that started the feed's timer would continue its trace there.
    services.featureService(changeFeed);
    const fleetLog = new FleetLog(database);
    return {
      agentRoutes: (app) => changesRoute(app, services),
      everySecond: { 'change log': () => fleetLog.maintain(config.CHANGE_LOG_DAYS) },
    };
  },
};
