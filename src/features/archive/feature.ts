import { operationsIn } from '../../core/admin/operation.ts';
import type { Feature } from '../../core/feature.ts';
import { registerExportCommand, registerImportCommand } from './cli/archives.ts';
import { registerPushCommand } from './cli/hosted.ts';
import { registerMigrateDataCommand } from './cli/migrate-data.ts';
import * as operations from './operations.ts';

/** Memories as archives, from and to hosted memory stores, and in another database. */
export const archive: Feature = {
  name: 'archive',
  uses: ['secrets'],
  operations: operationsIn(operations),
  commands(program, cli) {
    registerExportCommand(program, cli);
    registerImportCommand(program, cli);
    registerPushCommand(program, cli);
    registerMigrateDataCommand(program, cli);
  },
};
