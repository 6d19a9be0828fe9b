import { useMemo } from 'preact/hooks';
import type { Conflict, RevertResolution } from '../../api/api-types.ts';
import { type RevertTarget, readRevertDiff } from '../../api/history-api.ts';
import { CodeEditor } from '../../ui/code-editor/code-editor.tsx';
import { Load } from '../../ui/load.tsx';
import { Segmented } from '../../ui/segmented.tsx';
import { type Loaded, useLoad } from '../../ui/use-load.ts';
import { detectLineEnding, withLineEnding } from '../memory/line-endings.ts';
import { compareTexts, type ShownDiff, shownDiff } from './diff-lines.ts';
import { DiffView } from './diff-view.tsx';

/** Resolutions for the previewed revert, by file ID. */
export interface RevertReview {
  target: RevertTarget;
  resolutions: Readonly<Record<string, RevertResolution>>;
  resolve: (memoryId: string, resolution: RevertResolution) => void;
}

type Choice = Conflict['choices'][number];

const CHOICES = { reverted: 'Reverted', current: 'Current', text: 'Own text' } as const;

const HINTS = {
  reverted: 'Removes the changes of the actor, and keeps the changes of others in other lines.',
  current: 'Leaves the file unchanged.',
  text: 'The file gets the text below.',
};

interface Props {
  tenant: string;
  memoryId: string;
  choices: readonly Choice[];
  review: RevertReview;
}

/** Shows a revert's change to one file with a conflict, and the resolution. */
export function RevertConflict({ tenant, memoryId, choices, review }: Props) {
  const difference = useRevertDiff(tenant, memoryId, review);
  const { data } = difference;
  const files = useMemo(() => data && [shownDiff(data.difference)], [data]);
  const resolution = review.resolutions[memoryId];
  const chosen = resolutionChoice(resolution);
  const options = choices
    .filter((choice) => choice !== 'text' || data !== undefined)
    .map((choice) => [choice, CHOICES[choice]] as const);
  const start = data?.texts.reverted ?? data?.texts.current ?? '';
  const choose = (choice: Choice) =>
    review.resolve(
      memoryId,
      choice === 'text' ? { memory_id: memoryId, text: start } : { memory_id: memoryId, take: choice },
    );
  return (
    <section class={`preview-difference${chosen === 'text' ? ' with-text' : ''}`} aria-label="Conflict">
      <div class="controls bar">
        <Segmented label="Resolution of this file" options={options} value={chosen} onChange={choose} />
        <span class="muted small">
          {chosen === null ? 'The file is left unchanged without a choice.' : HINTS[chosen]}
        </span>
      </div>
      <Load of={{ ...difference, data: files }} what="the difference">
        {(shown) => <DiffView files={shown} />}
      </Load>
      {resolution !== undefined && 'text' in resolution && (
        <div class="own-text field">
          <span>Own text</span>
          <CodeEditor
            label="Own text"
            text={withLineEnding(resolution.text, '\n')}
            onChange={(changed) => {
              const text = withLineEnding(changed, detectLineEnding(start) ?? '\n');
              review.resolve(memoryId, { memory_id: memoryId, text });
            }}
          />
        </div>
      )}
    </section>
  );
}

/** Shows the difference between a file's current text and its new text. No version has the new text. */
export function MergedDifference({ tenant, memoryId, review }: Omit<Props, 'choices'>) {
  const loaded = useRevertDiff(tenant, memoryId, review);
  const { data } = loaded;
  const resolution = review.resolutions[memoryId];
  const files = useMemo((): ShownDiff[] | undefined => {
    if (data === undefined) return undefined;
    if (resolution === undefined || !('text' in resolution)) return [shownDiff(data.difference)];
    return [{ title: null, lines: compareTexts(data.texts.current ?? '', resolution.text), note: null }];
  }, [data, resolution]);
  return <Difference files={{ ...loaded, data: files }} />;
}

/** Shows a file's difference in a preview. */
export function Difference({ files }: { files: Loaded<ShownDiff[]> }) {
  return (
    <section class="preview-difference" aria-label="Difference">
      <Load of={files} what="the difference">
        {(shown) => <DiffView files={shown} />}
      </Load>
    </section>
  );
}

const useRevertDiff = (tenant: string, memoryId: string, { target }: RevertReview) =>
  useLoad(
    (signal) => readRevertDiff(tenant, target, memoryId, signal),
    [tenant, memoryId, JSON.stringify(target)],
  );

function resolutionChoice(resolution: RevertResolution | undefined): Choice | null {
  if (resolution === undefined) return null;
  return 'text' in resolution ? 'text' : resolution.take;
}
