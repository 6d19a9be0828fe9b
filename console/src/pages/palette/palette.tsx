import './palette.css';
import { useState } from 'preact/hooks';
import { errorMessage } from '../../api/api-client.ts';
import { findPaths, searchAll } from '../../api/memory-api.ts';
import { listTenants } from '../../api/tenants-api.ts';
import { goTo, route, toHref } from '../../router.ts';
import { revealHidden } from '../../text/visible.tsx';
import { Combobox } from '../../ui/combobox.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Name } from '../../ui/name.tsx';
import { useDebounced } from '../../ui/use-debounced.ts';
import { useLoad } from '../../ui/use-load.ts';
import { commandsFor, type Target } from './palette-commands.ts';

const FOUND = 6;
/** Minimum length of a text to search contents for. */
const MIN_SEARCH = 3;
/** Maximum length of a line's part that is shown. */
const EXCERPT = 200;

/** Opens pages, tenants, files of the open tenant, and actions by their names, and all tenants' files by their contents. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const query = text.trim();
  const { segments } = route.value;
  const tenant = segments[0] === 'tenants' ? (segments[1] ?? null) : null;
  const found = useFound(tenant, query);
  const targets = [...commandsFor(tenant, query), ...found.targets];
  return (
    <Modal title="Go to" onClose={onClose}>
      <div class="dialog-body palette">
        <Combobox
          isOpen
          autofocus
          placeholder={
            tenant === null
              ? 'A page, a tenant, a text, an action'
              : 'A page, a tenant, a file, a text, an action'
          }
          aria-label="Page, tenant, file, or action"
          title="Found"
          value={text}
          onInput={setText}
          options={targets}
          onChoose={({ href }) => {
            onClose();
            goTo(href);
          }}
        >
          {(target) => (
            <>
              <span class="palette-text">
                <Name text={target.text} />
                {target.excerpt && <span class="muted small">{revealHidden(target.excerpt)}</span>}
              </span>
              <span class="muted small">{target.kind}</span>
            </>
          )}
        </Combobox>
        {(targets.length === 0 || found.isSearching) && (
          <p class="muted small" role="status">
            {found.isSearching ? 'Searching…' : 'No matches'}
          </p>
        )}
        {found.errors.map((error) => (
          <p key={error} class="notice error" role="alert">
            {error}
          </p>
        ))}
      </div>
    </Modal>
  );
}

/** Finds tenants, the open tenant's files, and all tenants' files by their contents. */
function useFound(tenant: string | null, query: string) {
  const debounced = useDebounced(query, 200);
  // A search in contents is dearer than a search for names.
  const searched = useDebounced(query, 500);
  const tenants = useLoad(
    async (signal) =>
      debounced === '' ? [] : (await listTenants({ search: debounced, limit: FOUND }, signal)).tenants,
    [debounced],
  );
  const files = useLoad(
    async (signal) => {
      return tenant === null || debounced === '' ? [] : findPaths(tenant, debounced, FOUND, signal);
    },
    [tenant, debounced],
  );
  const contents = useLoad(
    async (signal) => (searched.length < MIN_SEARCH ? [] : searchAll(searched, FOUND, signal)),
    [searched],
  );
  const matches = searched === query ? (contents.data ?? []) : [];
  const targets: Target[] = [
    ...(files.data ?? []).map((path) => ({
      text: path,
      kind: 'File',
      href: toHref(['tenants', tenant ?? ''], { path }),
    })),
    ...(tenants.data ?? []).map(({ id, name }) => ({
      text: name === id ? id : `${name} · ${id}`,
      kind: 'Tenant',
      href: toHref(['tenants', id]),
    })),
    ...matches.map(({ tenant: id, path, line, text }) => ({
      text: `${id} ${path}`,
      kind: 'Content',
      excerpt: text?.trim().slice(0, EXCERPT),
      href: toHref(['tenants', id], { path, line }),
    })),
  ];
  const errors = [tenants.error, files.error, contents.error]
    .filter((error) => error !== undefined)
    .map(errorMessage);
  const isCurrent = debounced === query && !tenants.isLoading && !files.isLoading;
  const isSearching = searched !== query || contents.isLoading;
  // Results for an older text could be opened by mistake.
  return {
    targets: isCurrent ? targets : [],
    errors: [...new Set(errors)],
    isSearching: !isCurrent || isSearching,
  };
}
