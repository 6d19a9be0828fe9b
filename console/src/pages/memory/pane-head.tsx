import type { ComponentChildren } from 'preact';
import { pushQuery } from '../../router.ts';
import { Icon } from '../../ui/icon.tsx';
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
      <button
        type="button"
        class="icon-button only-narrow"
        onClick={() => pushQuery({ path: null, line: null })}
      >
        <Icon name="back" />
        <span class="visually-hidden">Back to the files</span>
      </button>
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
