import type { Region } from '../../api/drafts-api.ts';
import { count, formatNumber } from '../../text/format.ts';
import { revealHidden } from '../../text/visible.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import type { Side } from './regions.ts';

/** Maximum number of lines shown for a side, and of unchanged lines around a part. */
const SHOWN = 200;
const CONTEXT = 2;

const SIDES = [
  ['draft', 'Draft'],
  ['original', 'Original'],
  ['both', 'Both'],
] as const;

interface Props {
  regions: readonly Region[];
  sides: readonly (Side | null)[];
  onChoose: (part: number, side: Side) => void;
}

/** Lists the parts that differ in a file, and selects the side for each part. */
export function Parts({ regions, sides, onChoose }: Props) {
  let part = 0;
  const count = regions.filter(({ kind }) => kind === 'conflict').length;
  return (
    <ol class="parts" aria-label="Parts of the file">
      {regions.map((region, i) => {
        if (region.kind === 'merged') return null;
        const index = part++;
        const side = sides[index] ?? null;
        return (
          <li key={i} class="part">
            <div class="part-head">
              <strong>
                Part {index + 1} of {formatNumber(count)}
              </strong>
              <Segmented
                label={`Side of part ${index + 1}`}
                // For a part that only one side has, `both` would equal that side.
                options={region.draft === '' || region.original === '' ? SIDES.slice(0, 2) : SIDES}
                value={side}
                onChange={(next) => onChoose(index, next)}
              />
            </div>
            <div class="part-text code">
              <Lines text={lastLines(regions[i - 1])} kind="same" />
              <Lines
                text={region.original}
                kind={side === 'draft' ? 'removed left-out' : 'removed'}
                name="In the original"
              />
              <Lines
                text={region.draft}
                kind={side === 'original' ? 'added left-out' : 'added'}
                name="In the draft"
              />
              <Lines text={firstLines(regions[i + 1])} kind="same" />
            </div>
          </li>
        );
      })}
    </ol>
  );
}

const mergedRegionText = (region: Region | undefined) => (region?.kind === 'merged' ? region.text : '');
const firstLines = (region: Region | undefined) =>
  mergedRegionText(region).split('\n').slice(0, CONTEXT).join('\n');
const lastLines = (region: Region | undefined) =>
  mergedRegionText(region).replace(/\n$/, '').split('\n').slice(-CONTEXT).join('\n');

function Lines({ text, kind, name }: { text: string; kind: string; name?: string }) {
  if (text === '') return name === undefined ? null : <p class={`part-none ${kind}`}>{name}: no lines</p>;
  const lines = text.replace(/\n$/, '').split('\n');
  const hidden = lines.length - SHOWN;
  return (
    <div class={kind}>
      {name !== undefined && <span class="visually-hidden">{name}: </span>}
      <span class="line-text">{revealHidden(lines.slice(0, SHOWN).join('\n'))}</span>
      {hidden > 0 && <p class="muted small">and {count(hidden, 'more line')}</p>}
    </div>
  );
}
