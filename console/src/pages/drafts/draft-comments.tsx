import { useState } from 'preact/hooks';
import { addComment, type DraftComment, deleteComment } from '../../api/drafts-api.ts';
import { canWrite } from '../../api/session-state.ts';
import { count } from '../../text/format.ts';
import { revealHidden } from '../../text/visible.tsx';
import { ActorName, Time } from '../../ui/inline.tsx';
import { ErrorText } from '../../ui/status-messages.tsx';
import { useUnsaved } from '../../ui/unsaved.ts';
import { useAction } from '../../ui/use-load.ts';

const MAX_LENGTH = 2000;

/** Comments by all reviewers on an open draft. */
export interface DraftComments {
  all: readonly DraftComment[];
  reload: () => void;
}

interface Props extends DraftComments {
  tenant: string;
  draft: string;
  /** Memory ID of the file that the comments are about; null for the whole draft. */
  file: string | null;
}

/** Lists the comments on a file or on the whole draft, with a field for a new one. */
export function Comments({ tenant, draft, file, all, reload }: Props) {
  const comments = all.filter(({ memory_id }) => memory_id === file);
  const [text, setText] = useState('');
  const action = useAction();
  useUnsaved(text.trim() !== '' && !action.isRunning);
  const change = (work: () => Promise<unknown>) =>
    action.run(async () => {
      await work();
      reload();
    });
  const add = () =>
    change(async () => {
      await addComment(tenant, draft, text.trim(), file);
      setText('');
    });
  if (comments.length === 0 && !canWrite.value) return null;
  const what = file === null ? 'on the draft' : 'on the file';
  return (
    <details class="comments" open={comments.length > 0}>
      <summary>
        {comments.length === 0 ? `Comment ${what}` : `${count(comments.length, 'comment')} ${what}`}
      </summary>
      <ul aria-label={`Comments ${what}`}>
        {comments.map(({ id, author, created_at, text: written }) => (
          <li key={id}>
            <p class="muted small comment-head">
              <ActorName actor={author} /> <Time value={created_at} isAge />
              {canWrite.value && (
                <button
                  type="button"
                  class="quiet"
                  disabled={action.isRunning}
                  onClick={() => change(() => deleteComment(tenant, draft, id))}
                >
                  Delete<span class="visually-hidden"> the comment</span>
                </button>
              )}
            </p>
            <p class="comment-text">{revealHidden(written)}</p>
          </li>
        ))}
      </ul>
      {canWrite.value && (
        <form
          class="comment-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (!action.isRunning && text.trim() !== '') void add();
          }}
        >
          <textarea
            aria-label={`New comment ${what}`}
            rows={2}
            maxLength={MAX_LENGTH}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" disabled={action.isRunning || text.trim() === ''}>
            Comment
          </button>
        </form>
      )}
      <ErrorText message={action.error} />
    </details>
  );
}
