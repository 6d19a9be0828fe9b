import './shell.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { actorText } from '../../../src/core/memory/origin.ts';
import { isSignedIn, session, signOut, storedKey } from '../api/session-state.ts';
import { WaitingDrafts } from '../pages/drafts/waiting.tsx';
import { route } from '../router.ts';
import { isUtc } from '../text/zone.ts';
import { Button } from '../ui/button.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { Badge } from '../ui/inline.tsx';
import { Name } from '../ui/name.tsx';
import { isPaletteOpen } from '../ui/palette-state.ts';
import { THEMES, theme } from '../ui/preferences.ts';
import { Segmented } from '../ui/segmented.tsx';
import { mayDiscard } from '../ui/unsaved.ts';
import { Nav } from './nav.tsx';
import { mainSections, tenantSections } from './sections.ts';

const ZONES = [
  ['local', 'Local time'],
  ['utc', 'UTC'],
] as const;

/** The sidebar beside the page. In a narrow window, a bar above the page opens the sidebar as a drawer. */
export function Shell({ children }: { children: ComponentChildren }) {
  return (
    <div class="shell">
      <Sidebar />
      <div class="fills shell-page">
        <header class="topbar">
          <IconButton icon="menu" label="Menu" class="quiet" popovertarget="sidebar" />
          <Brand />
          <span class="spacer" />
          <GoTo />
        </header>
        {children}
      </div>
    </div>
  );
}

function Sidebar() {
  const element = useRef<HTMLElement>(null);
  const { segments } = route.value;
  const [section, tenant] = segments;
  // The drawer closes after each navigation.
  useEffect(() => element.current?.hidePopover(), [segments.join('/')]);
  return (
    <aside ref={element} id="sidebar" class="sidebar" popover="auto" aria-label="Console">
      <div class="spread side-head">
        <Brand />
        <IconButton
          icon="close"
          label="Close the menu"
          class="quiet"
          popovertarget="sidebar"
          popovertargetaction="hide"
        />
      </div>
      <GoTo />
      <Nav
        label="Main"
        class="side-nav"
        sections={mainSections()}
        after={({ title }) => title === 'Drafts' && <WaitingDrafts />}
      />
      {section === 'tenants' && tenant !== undefined && (
        <div class="side-tenant">
          <p class="muted small">
            <Name text={tenant} />
          </p>
          <Nav label="Tenant" class="side-nav" sections={tenantSections(tenant)} />
        </div>
      )}
      <span class="spacer" />
      <Preferences />
      <Account />
    </aside>
  );
}

function Brand() {
  return (
    <a class="row brand" href="#/" aria-label="Memory console">
      <img src="./icon.svg" alt="" width="22" height="22" />
      <span>Memory console</span>
    </a>
  );
}

function GoTo() {
  return (
    <Button
      icon="search"
      text="Go to…"
      class="go-to"
      title="Go to a page, a tenant, or a file (Ctrl+K or ⌘K)"
      onClick={() => {
        isPaletteOpen.value = true;
      }}
    />
  );
}

function Preferences() {
  return (
    <div class="preferences">
      <Segmented
        label="Theme"
        options={THEMES}
        value={theme.value}
        onChange={(chosen) => {
          theme.value = chosen;
        }}
      />
      <Segmented
        label="Time zone"
        options={ZONES}
        value={isUtc.value ? 'utc' : 'local'}
        onChange={(zone) => {
          isUtc.value = zone === 'utc';
        }}
      />
    </div>
  );
}

/** The signed-in actor, with the limits of its key. */
function Account() {
  const info = session.value;
  if (info === null) return null;
  return (
    <div class="account small">
      <p class="muted">
        <Name text={actorText(info.actor)} />
      </p>
      {info.access !== 'read_write' && (
        <Badge kind="neutral">{info.access === 'operate' ? 'operate only' : 'read only'}</Badge>
      )}
      {(storedKey() !== null || isSignedIn.value) && (
        <Button
          icon="sign-out"
          text="Sign out"
          class="quiet"
          onClick={async () => (await mayDiscard()) && signOut()}
        />
      )}
    </div>
  );
}
