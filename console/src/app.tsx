import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api/api-client.ts';
import { endSession, readSignIn, session, signedOutBecause, storedKey } from './api/session-state.ts';
import { getSession } from './api/tenants-api.ts';
import { SignInPage } from './pages/sign-in/sign-in-page.tsx';
import { BulkHost } from './pages/tenants/bulk/open-bulk.tsx';
import { TenantsPage } from './pages/tenants/tenants-page.tsx';
import { route, toHref } from './router.ts';
import { Shell } from './shell/shell.tsx';
import { documentTitle } from './title.ts';
import { Questions } from './ui/confirm.tsx';
import { lazy } from './ui/lazy.tsx';
import { isPaletteOpen, onPaletteKey } from './ui/palette-state.ts';
import { rememberedScroll } from './ui/remembered-scroll.ts';
import { focusHeading, focusMain, onShortcut } from './ui/shortcuts.ts';
import { LoadError, Loading, Toasts } from './ui/status-messages.tsx';

/** The root component. */
export function App() {
  return (
    <>
      <BulkHost />
      <Console />
    </>
  );
}

/** The sign-in page without a session, otherwise the page that the URL selects. */
function Console() {
  const [error, setError] = useState<unknown>();
  const [isStarting, setIsStarting] = useState(true);
  const start = async () => {
    setError(undefined);
    readSignIn();
    try {
      session.value = await getSession();
    } catch (cause) {
      if (!(cause instanceof ApiError) || cause.status >= 500) setError(cause);
      else
        endSession(
          storedKey() === null
            ? signedOutBecause.value
            : 'Your key is no longer accepted. Sign in with another one.',
        );
    }
    setIsStarting(false);
  };
  useEffect(() => void start(), []);
  const title = documentTitle();
  useEffect(() => {
    document.title = title;
  }, [title]);

  const page = session.value === null ? null : toHref(route.value.segments);
  const lastPage = useRef(page);
  const [announced, setAnnounced] = useState('');
  useEffect(() => {
    // A screen reader continues at the new page. Signing in opens no other page.
    if (lastPage.current !== null && page !== null && page !== lastPage.current) {
      scrollTo(0, rememberedScroll() ?? 0);
      focusHeading();
      setAnnounced(title);
    }
    lastPage.current = page;
  }, [page]);
  useEffect(() => {
    addEventListener('keydown', onShortcut);
    addEventListener('keydown', onPaletteKey);
    return () => {
      removeEventListener('keydown', onShortcut);
      removeEventListener('keydown', onPaletteKey);
    };
  }, []);

  if (isStarting) return <Loading what="the console" />;
  if (error !== undefined) {
    return (
      <main class="narrow">
        <LoadError error={error} onRetry={start} />
      </main>
    );
  }
  const [section, token] = route.value.segments;
  if (session.value === null && section === 'first-key' && token !== undefined)
    return (
      <>
        <FirstKeyPage token={token} />
        <Questions />
      </>
    );
  if (session.value === null) return <SignInPage />;
  return (
    <>
      <button type="button" class="skip-link" onClick={focusMain}>
        Skip to the content
      </button>
      <Shell>
        <Page />
      </Shell>
      <Toasts />
      <Questions />
      {isPaletteOpen.value && <Palette onClose={closePalette} />}
      <p class="visually-hidden" aria-live="polite">
        {announced}
      </p>
    </>
  );
}

const lazyPage = <Props extends object>(load: () => Promise<ComponentType<Props>>) => lazy('the page', load);

const AuditPage = lazyPage(async () => (await import('./pages/audit/audit-page.tsx')).AuditPage);
const DraftsSection = lazyPage(async () => (await import('./pages/drafts/drafts-section.tsx')).DraftsSection);
const FirstKeyPage = lazyPage(async () => (await import('./pages/sign-in/first-key-page.tsx')).FirstKeyPage);
const IncidentsPage = lazyPage(
  async () => (await import('./pages/incidents/incidents-page.tsx')).IncidentsPage,
);
const KeysSection = lazyPage(async () => (await import('./pages/keys/keys-section.tsx')).KeysSection);
const OverviewPage = lazyPage(async () => (await import('./pages/overview/overview-page.tsx')).OverviewPage);
const TenantPage = lazyPage(async () => (await import('./pages/tenants/tenant-page.tsx')).TenantPage);
const WebhooksSection = lazyPage(
  async () => (await import('./pages/webhooks/webhooks-section.tsx')).WebhooksSection,
);
const Palette = lazy('the palette', async () => (await import('./pages/palette/palette.tsx')).Palette);

const SECTIONS = new Map<string, ComponentType>([
  ['drafts', DraftsSection],
  ['incidents', IncidentsPage],
  ['keys', KeysSection],
  ['webhooks', WebhooksSection],
]);

function closePalette(): void {
  isPaletteOpen.value = false;
}

function Page() {
  const { segments } = route.value;
  const [section, tenant] = segments;
  // The link for the first key leads here after the sign-in.
  const isList =
    section === undefined || section === 'first-key' || (section === 'tenants' && tenant === undefined);
  if (isList) return <TenantsPage />;
  if (section === 'tenants' && tenant !== undefined) return <TenantPage key={tenant} tenant={tenant} />;
  const Section = SECTIONS.get(section ?? '');
  if (Section !== undefined)
    return (
      <main>
        <Section />
      </main>
    );
  if (section === 'overview') return <OverviewPage />;
  if (section === 'audit') return <AuditPage />;
  return (
    <main class="narrow">
      <h1>Page not found</h1>
      <p>
        Go to the <a href="#/">tenants</a>.
      </p>
    </main>
  );
}
