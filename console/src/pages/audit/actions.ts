import type { AuditEvent } from '../../api/api-types.ts';

/** Descriptions for the operations in the audit trail. */
export const ACTIONS: Record<string, string> = {
  createTenant: 'Create a tenant',
  updateTenant: 'Change a tenant',
  deleteTenant: 'Delete a tenant',
  copyTenant: 'Copy a tenant',
  renameTenant: 'Rename a tenant',
  suspendTenant: 'Suspend a tenant',
  resumeTenant: 'Resume a tenant',
  archiveTenant: 'Archive a tenant',
  createKey: 'Create a key',
  updateKey: 'Change a key',
  revokeKey: 'Revoke a key',
  rotateKey: 'Rotate a key',
  endPreviousSecret: 'End the old secret of a key',
  createInvitation: 'Invite another tenant',
  revokeInvitation: 'Revoke an invitation',
  acceptInvitation: 'Accept an invitation',
  endShare: 'End a share',
  createWebhook: 'Create a webhook',
  updateWebhook: 'Change a webhook',
  deleteWebhook: 'Delete a webhook',
  rotateWebhookSecret: 'Rotate the secret of a webhook',
  testWebhook: 'Test a webhook',
  redeliverWebhook: 'Deliver again to a webhook',
  keepOut: 'Keep a text out',
  keepOutOfAll: 'Keep a text out of all tenants',
  removeKeptOut: 'Allow a text again',
  removeKeptOutOfAll: 'Allow a text again in all tenants',
  expireFiles: 'Delete unused files',
  pruneHistory: 'Prune the history of all tenants',
  pruneTenantHistory: 'Prune the history of a tenant',
  setMount: 'Set a mount',
  removeMount: 'Remove a mount',
  runCommand: 'Run a command as an agent',
  writeFile: 'Write a file',
  deleteFile: 'Delete a file or a directory',
  move: 'Move a file or a directory',
  importMemory: 'Import an archive',
  redactVersion: 'Redact a version',
  redactDirectories: 'Redact names of directories',
  restore: 'Restore a past state',
  revert: "Revert an actor's changes",
  createDraft: 'Create a draft',
  closeDraft: 'Reject a draft',
  mergeDraft: 'Merge a draft',
  replaceByDraft: 'Replace the memory with a draft',
  addDraftComment: 'Comment on a draft',
  resolveDraftComment: 'Resolve a comment on a draft',
  deleteDraftComment: 'Delete a comment on a draft',
  checkReceiptText: 'Check the text of a receipt',
  startFind: 'Find a text in many tenants',
  startRevert: "Try to revert an actor's changes in many tenants",
  applyRevert: "Revert an actor's changes in many tenants",
  startErase: 'Erase a text in many tenants',
  cancelJob: 'Cancel a job',
  createMemoryStore: 'Create a memory store',
  updateMemoryStore: 'Change a memory store',
  deleteMemoryStore: 'Delete a memory store',
  archiveMemoryStore: 'Archive a memory store',
  redactMemoryVersion: 'Redact a version in a memory store',
  migrateData: 'Copy all data to another database',
};

/** Operations that write files, so that reverting the actor's changes undoes them. */
const WRITES = new Set([
  'runCommand',
  'writeFile',
  'deleteFile',
  'move',
  'importMemory',
  'restore',
  'revert',
  'applyRevert',
  'mergeDraft',
  'replaceByDraft',
]);

/** Whether reverting the actor's changes can undo an event. */
export const canUndo = ({ action, dry_run, outcome, details }: AuditEvent) =>
  WRITES.has(action) && !dry_run && outcome === 'ok' && details.command !== 'view';

/** Returns an operation's description. A newer service may have an operation that has no description here. */
export const actionText = (action: string) => ACTIONS[action] ?? action;

/**
 * Returns the operations whose name or description contains a text, as a filter for the audit trail. A text without a
 * match is used as an operation's name.
 */
export function findActions(text: string): string[] {
  const part = text.trim().toLowerCase();
  if (part === '') return [];
  const matches = Object.entries(ACTIONS).filter(
    ([action, description]) =>
      action.toLowerCase().includes(part) || description.toLowerCase().includes(part),
  );
  return matches.length === 0 ? [text.trim()] : matches.map(([action]) => action);
}
