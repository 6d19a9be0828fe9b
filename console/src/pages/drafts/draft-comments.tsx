import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import {
  addComment,
  type DraftComment,
  deleteComment,
  type NewComment,
  resolveComment,
} from '../../api/drafts-api.ts';
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
  tenant: string;
  /** The draft's ID. */
  draft: string;
  all: readonly DraftComment[];
  reload: () => Promise<void>;
}

/**
 * Returns a file's open comments on lines, to show below the lines, with a field for a reply.
 *
 * @param newLine line with a field for a first comment
 * @param onClose called when that comment is stored or abandoned
 */
export function lineComments(
  comments: DraftComments,
  file: string,
  newLine: number | null,
  onClose: () => void,
): LineNote[] {
  const byLine = Map.groupBy(
    comments.all.filter(({ memory_id, line, resolved }) => memory_id === file && line !== null && !resolved),
    ({ line }) => line as number,
  );
  if (newLine !== null && !byLine.has(newLine)) byLine.set(newLine, []);
  return [...byLine].map(([line, members]) => ({
    line,
    content: (
      <div class="line-comments">
        {members.length > 0 && (
          <CommentList label={`Comments on line ${line}`} comments={comments} shown={members} />
        )}
        {canWrite.value && (
          <CommentForm
            key={members.length > 0}
            comments={comments}
            about={{ memory_id: file, line }}
            label={`New comment on line ${line}`}
            verb={members.length > 0 ? 'Reply' : 'Comment'}
            onClose={line === newLine ? onClose : undefined}
          />
        )}
      </div>
    ),
  }));
}

interface ListProps {
  label: string;
  comments: DraftComments;
  shown: readonly DraftComment[];
}

function CommentList({ label, comments, shown }: ListProps) {
  return (
    <ul aria-label={label}>
      {shown.map((comment) => (
        <CommentItem key={comment.id} comments={comments} comment={comment} />
      ))}
    </ul>
  );
}

/** A comment, with buttons to resolve and delete it. */
function CommentItem({ comments, comment }: { comments: DraftComments; comment: DraftComment }) {
  const { tenant, draft, reload } = comments;
  const { id, author, created_at, line, reviewer, text, resolved } = comment;
  const action = useAction();
  const change = (work: () => Promise<unknown>) =>
    action.run(async () => {
      await work();
      await reload();
    });
  return (
    <li>
      <p class="muted small cluster comment-head">
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
        {canWrite.value && (
          <>
            <button
              type="button"
              class="quiet"
              disabled={action.isRunning}
              onClick={() => change(() => resolveComment(tenant, draft, id, !resolved))}
            >
              {resolved ? 'Reopen' : 'Resolve'}
              <span class="visually-hidden"> the comment</span>
            </button>
            <button
              type="button"
              class="quiet"
              disabled={action.isRunning}
              onClick={() => change(() => deleteComment(tenant, draft, id))}
            >
              Delete<span class="visually-hidden"> the comment</span>
            </button>
          </>
        )}
      </p>
      <p class="pre">{revealHidden(text)}</p>
      <ErrorText message={action.error} />
    </li>
  );
}

interface FormProps {
  comments: DraftComments;
  /** The file and the line that the comment is about. */
  about: Pick<NewComment, 'memory_id' | 'line'>;
  /** The field's accessible name. */
  label: string;
  verb: string;
  /** Called when a comment that the user began at a line is stored or abandoned. */
  onClose?: (() => void) | undefined;
}

function CommentForm({ comments: { tenant, draft, reload }, about, label, verb, onClose }: FormProps) {
  const [text, setText] = useState('');
  const [reviewer, setReviewer] = useState('');
  const [line, setLine] = useState(about.line);
  const action = useAction();
  useUnsaved(text.trim() !== '' && !action.isRunning);
  const field = useRef<HTMLTextAreaElement>(null);
  const isStarted = onClose !== undefined;
  useLayoutEffect(() => {
    if (isStarted) field.current?.focus();
  }, [isStarted]);
  const add = () =>
    action.run(async () => {
      await addComment(tenant, draft, {
        ...about,
        text: text.trim(),
        ...(line !== undefined && { line }),
        ...(reviewer.trim() !== '' && { reviewer: reviewer.trim() }),
      });
      setText('');
      setReviewer('');
      setLine(about.line);
      await reload();
      onClose?.();
    });
  return (
    <form
      class="controls comment-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!action.isRunning && text.trim() !== '') void add();
      }}
    >
      {about.memory_id !== undefined && about.line === undefined && (
        <label class="check comment-line">
          Line
          <input
            type="number"
            min={1}
            value={line ?? ''}
            onChange={({ currentTarget: { valueAsNumber } }) => setLine(valueAsNumber || undefined)}
          />
        </label>
      )}
      <textarea
        ref={field}
        aria-label={label}
        placeholder={verb}
        rows={1}
        maxLength={MAX_LENGTH}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {about.memory_id === undefined && (
        <label class="check comment-reviewer">
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
        {verb}
      </button>
      {onClose && (
        <button type="button" class="quiet" onClick={onClose}>
          Cancel
        </button>
      )}
      <ErrorText message={action.error} />
    </form>
  );
}

/** Lists the comments on a file or on the whole draft, with a field for a new comment. */
export function Comments({ comments, file }: { comments: DraftComments; file: string | null }) {
  const shown = comments.all.filter(({ memory_id }) => memory_id === file);
  if (shown.length === 0 && !canWrite.value) return null;
  const what = file === null ? 'on the draft' : 'on the file';
  return (
    <details class="bar comments" open={shown.some(({ line, resolved }) => line === null && !resolved)}>
      <summary>
        {shown.length === 0 ? `Comment ${what}` : `${count(shown.length, 'comment')} ${what}`}
      </summary>
      <CommentList label={`Comments ${what}`} comments={comments} shown={shown} />
      {canWrite.value && (
        <CommentForm
          comments={comments}
          about={file === null ? {} : { memory_id: file }}
          label={`New comment ${what}`}
          verb="Comment"
        />
      )}
    </details>
  );
}
