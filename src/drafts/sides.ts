import type { LoadedState } from '../history/log.ts';
import type { SideTexts } from './contents.ts';
import type { ThreeWay } from './three-way.ts';

/** One side of a file with its content, as diffs take it. */
export function loadedSide(file: ThreeWay, texts: SideTexts, side: keyof SideTexts): LoadedState {
  const there = file[side];
  const content = texts[side];
  if (there === null) return { kind: 'absent' };
  return content === null ? { kind: 'pruned' } : { kind: 'file', path: there.path, content };
}
