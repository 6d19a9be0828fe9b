import type { RevertResolution } from '../../api/api-types.ts';
import type { RevertTarget } from '../../api/history-api.ts';

/** Resolutions for the previewed revert, by file ID. */
export interface RevertReview {
  target: RevertTarget;
  resolutions: Readonly<Record<string, RevertResolution>>;
  resolve: (memoryId: string, resolution: RevertResolution) => void;
}
