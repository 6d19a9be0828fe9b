import type { Origin } from '../memory/origin.ts';

/** Records which files' contents a caller received (src/features/reads). */
export interface ReadTrail {
  /**
   * Records a read. Never throws, and costs no statement.
   *
   * @param tenant the tenant whose memory has the file; for a mounted file, the mounted tenant
   * @param path path in that memory
   * @param origin the reading call's actor, `tool_use` ID and, for a mounted file, mounting tenant
   */
  note(tenant: string, path: string, origin: Origin): void;
}
