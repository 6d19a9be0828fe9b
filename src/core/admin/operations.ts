import { listAuditEvents } from './audit-events.ts';
import { restore } from './changes.ts';
import { diffTimes, diffVersion } from './diffs.ts';
import { listDirectory, sumSizes } from './files.ts';
import { createKey, endPreviousSecret, getKey, listKeys, revokeKey, rotateKey, updateKey } from './keys.ts';
import { expireFiles, pruneHistory, pruneTenantHistory } from './maintenance.ts';
import { deleteFile, listTree, moveFile, readFile, writeFile } from './memory.ts';
import { listMounts, readInstructions, removeTenantMount, setTenantMount } from './mounts.ts';
import type { AnyAdminOperation } from './operation.ts';
import { checkDirectoryRedaction, checkRedaction, redactDirectories, redactVersion } from './redactions.ts';
import { diffRevert, revert } from './reverts.ts';
import { getSession } from './session.ts';
import {
  archiveTenant,
  copyTenant,
  createTenant,
  deleteTenant,
  getTenant,
  listTenants,
  renameTenant,
  resumeTenant,
  suspendTenant,
  updateTenant,
} from './tenants.ts';
import { countChanges, findAdjacentChanges } from './timeline.ts';
import { getFleetUsage, getUsage, listUsageDays } from './usage.ts';
import { getVersion, listVersions } from './versions.ts';

/** Operations of the core in the admin API. */
export const OPERATIONS = [
  getSession,
  listTenants,
  createTenant,
  getTenant,
  updateTenant,
  deleteTenant,
  copyTenant,
  renameTenant,
  suspendTenant,
  resumeTenant,
  archiveTenant,
  listKeys,
  createKey,
  getKey,
  updateKey,
  rotateKey,
  revokeKey,
  endPreviousSecret,
  listAuditEvents,
  getFleetUsage,
  expireFiles,
  pruneHistory,
  getUsage,
  listUsageDays,
  listMounts,
  readInstructions,
  setTenantMount,
  removeTenantMount,
  listDirectory,
  sumSizes,
  listTree,
  readFile,
  deleteFile,
  moveFile,
  writeFile,
  listVersions,
  getVersion,
  countChanges,
  findAdjacentChanges,
  diffVersion,
  diffTimes,
  checkRedaction,
  redactVersion,
  checkDirectoryRedaction,
  redactDirectories,
  pruneTenantHistory,
  restore,
  revert,
  diffRevert,
] as readonly AnyAdminOperation[];
