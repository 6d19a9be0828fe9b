import { KeysSection } from './keys-section.tsx';

/** Lists all keys: tenant keys, service keys, and admin keys. */
export function KeysPage() {
  return (
    <main>
      <KeysSection />
    </main>
  );
}
