import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import { Button } from '../../ui/button.tsx';
import { ActionDialog } from '../../ui/dialog.tsx';
import { TextField } from '../../ui/fields.tsx';
import { IconButton } from '../../ui/icon-button.tsx';
import { Name } from '../../ui/name.tsx';
import { viewQuery } from './tenant-filters.tsx';

/** Filters and order for the tenant list, under a name. */
interface View {
  name: string;
  /** The URL query. */
  query: string;
}

const STORAGE_KEY = 'tenant-views';

/** Parses stored views. Another console version may have stored another format, which is ignored. */
function parseViews(stored: string | null): View[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(stored ?? '[]');
  } catch {
    return [];
  }
  return Array.isArray(parsed) ? parsed.filter(isView) : [];
}

function isView(value: unknown): value is View {
  if (typeof value !== 'object' || value === null || !('name' in value) || !('query' in value)) return false;
  return typeof value.name === 'string' && typeof value.query === 'string';
}

/** Views that this browser stores. */
const views = signal<readonly View[]>(parseViews(localStorage.getItem(STORAGE_KEY)));

function storeViews(changed: readonly View[]): void {
  localStorage.setItem(STORAGE_KEY, JSON.stringify(changed));
  views.value = changed;
}

/** Links to the saved views, and a button that saves the current filters as a view. */
export function SavedViews({ query }: { query: URLSearchParams }) {
  const [isSaving, setIsSaving] = useState(false);
  const current = viewQuery(query);
  const isNew = current !== '' && views.value.every((view) => view.query !== current);
  if (views.value.length === 0 && !isNew) return null;
  return (
    <nav class="buttons saved-views" aria-label="Saved views">
      {views.value.map((view) => (
        <span key={view.name} class="saved-view">
          <a href={`#/?${view.query}`} aria-current={view.query === current ? 'page' : undefined}>
            <Name text={view.name} />
          </a>
          <IconButton
            icon="close"
            label={`Delete the view ${view.name}`}
            class="quiet"
            onClick={() => storeViews(views.value.filter((each) => each !== view))}
          />
        </span>
      ))}
      {isNew && <Button icon="plus" text="Save view…" class="quiet" onClick={() => setIsSaving(true)} />}
      {isSaving && <SaveDialog query={current} onClose={() => setIsSaving(false)} />}
    </nav>
  );
}

function SaveDialog({ query, onClose }: { query: string; onClose: () => void }) {
  const [name, setName] = useState('');
  const isTaken = views.value.some((view) => view.name === name.trim());
  const save = async () => {
    const view = { name: name.trim(), query };
    storeViews([...views.value.filter((each) => each.name !== view.name), view]);
    onClose();
  };
  return (
    <ActionDialog
      title="Save the view"
      verb={isTaken ? 'Replace' : 'Save'}
      isReady={name.trim() !== ''}
      hasInput={name !== ''}
      onClose={onClose}
      onSubmit={save}
    >
      <p>The filters and the order, in this browser only. To share the view, share its URL.</p>
      <TextField
        label="Name"
        hint={isTaken && 'Replaces the view with this name.'}
        autofocus
        required
        maxLength={60}
        value={name}
        onChange={setName}
      />
    </ActionDialog>
  );
}
