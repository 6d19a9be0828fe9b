import type { ComponentChildren } from 'preact';
import { pushQuery } from '../../router.ts';
import { IconButton } from '../../ui/icon-button.tsx';
import { Name } from '../../ui/name.tsx';
import { shortPath } from './tree.ts';

interface Props {
  path: string;
  /** Details such as the size. */
  facts: ComponentChildren;
  children: ComponentChildren;
}

/** Length in characters above which a path gets a separate line. */
const LONG = 40;

/** Heading for a file or directory, with its actions. */
export function PaneHead({ path, facts, children }: Props) {
  const shown = shortPath(path);
  return (
    <div class="row pane-head file-head">
      <IconButton
        icon="back"
        label="Back to the files"
        class="only-narrow"
        onClick={() => pushQuery({ path: null, line: null })}
      />
      <div class={shown.length > LONG ? 'file-title is-long' : 'file-title'}>
        <h2>
          <Name text={path} shown={shown} keepsEnd copies="the path" />
        </h2>
        {facts && <p class="muted small">{facts}</p>}
      </div>
      {children}
    </div>
  );
}
