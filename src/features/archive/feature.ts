import { operationsIn } from '../../core/admin/admin-operation.ts';
import type { Feature } from '../../core/feature.ts';
import * as operations from './archive-operations.ts';
import { exportCommand, importCommand } from './cli/archive-commands.ts';
import { pushCommand } from './cli/hosted.ts';
import { migrateDataCommand } from './cli/migrate-data-command.ts';

/** Memories as archives, from and to hosted memory stores, and in another database. */
export const archive: Feature = {
  name: 'archive',
  uses: ['secrets'],
  operations: operationsIn(operations),
  commands: [exportCommand, importCommand, pushCommand, migrateDataCommand],
};
