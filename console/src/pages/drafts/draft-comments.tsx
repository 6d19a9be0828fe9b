import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { addComment, type DraftComment, deleteComment, resolveComment } from '../../api/drafts-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { count } from '../../text/format.ts';
import { revealHidden } from '../../text/visible.tsx';
import type { LineNote } from '../../ui/code-editor/code-diff.tsx';
import { ActorName, Time } from '../../ui/inline.tsx';
import { Name } from '../../ui/name.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { useAction } from '../../ui/use-load.ts';

const MAX_LENGTH = 2000;
const MAX_NAME = 200;

/** Comments by all reviewers on an open draft. */
export interface DraftComments {
  all: readonly DraftComment[];
  reload: () => void;
}

/** Returns a file's open comments on lines, to show below the lines. */
export const lineComments = ({ all }: DraftComments, file: string): LineNote[] =>
  [...Map.groupBy(all, (each) => (each.memory_id === file && !each.resolved ? each.line : null))].flatMap(
    ([line, comments]) =>
      line === null
        ? []
        : {
            line,
            content: (
              <ul class="line-comments" aria-label={`Comments on line ${line}`}>
                {comments.map((comment) => (
                  <li key={comment.id}>
                    <CommentText comment={comment} />
                  </li>
                ))}
              </ul>
            ),
          },
  );

function CommentText({ comment, children }: { comment: DraftComment; children?: ComponentChildren }) {
  const { author, created_at, line, reviewer, text, resolved } = comment;
  return (
    <>
      <p class="muted small row comment-head">
        <ActorName actor={author} /> <Time value={created_at} isAge />
        {line !== null && <span>line {line}</span>}
        {reviewer !== null && (
          <strong>
            requests a review of <Name text={reviewer} />
          </strong>
        )}
        {resolved && (
          <span>
            resolved by <ActorName actor={resolved.by} />
          </span>
        )}
        {children}
      </p>
      <p class="pre">{revealHidden(text)}</p>
    </>
  );
}

interface Props extends DraftComments {
  tenant: string;
  draft: string;
  /** Memory ID of the file that the comments are about; null for the whole draft. */
  file: string | null;
  /** The line that a new comment is about; null for the whole file. */
  line?: number | null;
  onLine?: (line: number | null) => void;
}

/** Lists the comments on a file or on the whole draft, with a field for a new one. */
export function Comments({ tenant, draft, file, all, reload, line = null, onLine }: Props) {
  const comments = all.filter(({ memory_id }) => memory_id === file);
  const [text, setText] = useState('');
  const [reviewer, setReviewer] = useState('');
  const action = useAction();
  useUnsaved(text.trim() !== '' && !action.isRunning);
  const change = (work: () => Promise<unknown>) =>
    action.run(async () => {
      await work();
      reload();
    });
  const add = () =>
    change(async () => {
      await addComment(tenant, draft, {
        text: text.trim(),
        ...(file !== null && { memory_id: file }),
        ...(line !== null && { line }),
        ...(reviewer.trim() !== '' && { reviewer: reviewer.trim() }),
      });
      setText('');
      setReviewer('');
      onLine?.(null);
    });
  const details = useRef<HTMLDetailsElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (line === null || details.current === null) return;
    details.current.open = true;
    field.current?.focus();
  }, [line]);
  if (comments.length === 0 && !canWrite.value) return null;
  const what = file === null ? 'on the draft' : 'on the file';
  return (
    <details
      ref={details}
      class="bar comments"
      open={comments.some((each) => each.line === null && !each.resolved)}
    >
      <summary>
        {comments.length === 0 ? `Comment ${what}` : `${count(comments.length, 'comment')} ${what}`}
      </summary>
      <ul aria-label={`Comments ${what}`}>
        {comments.map((comment) => (
          <li key={comment.id}>
            <CommentText comment={comment}>
              {canWrite.value && (
                <button
                  type="button"
                  class="quiet"
                  disabled={action.isRunning}
                  onClick={() => change(() => resolveComment(tenant, draft, comment.id, !comment.resolved))}
                >
                  {comment.resolved ? 'Reopen' : 'Resolve'}
                  <span class="visually-hidden"> the comment</span>
                </button>
              )}
              {canWrite.value && (
                <button
                  type="button"
                  class="quiet"
                  disabled={action.isRunning}
                  onClick={() => change(() => deleteComment(tenant, draft, comment.id))}
                >
                  Delete<span class="visually-hidden"> the comment</span>
                </button>
              )}
            </CommentText>
          </li>
        ))}
      </ul>
      {canWrite.value && (
        <form
          class="controls comment-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (!action.isRunning && text.trim() !== '') void add();
          }}
        >
          {onLine && (
            <label class="check comment-line">
              Line
              <input
                type="number"
                min={1}
                value={line ?? ''}
                onChange={({ currentTarget: { valueAsNumber } }) => onLine(valueAsNumber || null)}
              />
            </label>
          )}
          <textarea
            ref={field}
            aria-label={`New comment ${what}`}
            rows={1}
            maxLength={MAX_LENGTH}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          {file === null && (
            <label class="check comment-line">
              Request a review of
              <input
                type="text"
                maxLength={MAX_NAME}
                value={reviewer}
                onInput={({ currentTarget: { value } }) => setReviewer(value)}
              />
            </label>
          )}
          <button type="submit" disabled={action.isRunning || text.trim() === ''}>
            Comment
          </button>
        </form>
      )}
      <ErrorText message={action.error} />
    </details>
  );
}
