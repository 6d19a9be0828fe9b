import { DraftsSection } from './drafts-section.tsx';

export function DraftsPage() {
  return (
    <main>
      <DraftsSection />
    </main>
  );
}
