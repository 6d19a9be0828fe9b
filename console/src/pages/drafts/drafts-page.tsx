import { DraftsSection } from './drafts-section.tsx';

/** The drafts of all tenants. */
export function DraftsPage() {
  return (
    <main>
      <DraftsSection />
    </main>
  );
}
