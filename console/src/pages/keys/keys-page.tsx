import { KeysSection } from './keys-section.tsx';

/** The keys of all tenants, of services and of administrators. */
export function KeysPage() {
  return (
    <main>
      <KeysSection />
    </main>
  );
}
