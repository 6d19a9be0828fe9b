import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import { readsCommand } from './reads-command.ts';
import * as operations from './reads-operations.ts';

/** The read trail: which files were read by whom, and when. */
export const reads: Feature = {
  name: 'reads',
  uses: [],
  operations: operationsIn(operations),
  commands: [readsCommand],
  async start({ config, database, services, log }) {
    const [{ ReadLog }, { pruneReads }] = await Promise.all([
      import('./read-log.ts'),
      import('./prune-reads.ts'),
    ]);
    const readLog = new ReadLog(services, log);
    services.readTrail = services.featureService(() => readLog);
    return {
      hourly: {
        async reads() {
          await pruneReads(database, config);
        },
      },
    };
  },
};
