import type { RevertTarget } from '../../api/history.ts';
import type { RevertResolution } from '../../api/types.ts';

/** Resolutions of the previewed revert, by file ID. */
export interface RevertReview {
  target: RevertTarget;
  resolutions: Readonly<Record<string, RevertResolution>>;
  resolve: (memoryId: string, resolution: RevertResolution) => void;
}
