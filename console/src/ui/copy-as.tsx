import { type ApiRequest, cliOf, curlOf, hasCommand } from '../api/commands.ts';
import { CopyButton } from './copy.tsx';

/** Buttons that copy a request as a command. The commands read the admin key from a variable of the shell. */
export function CopyAs({ request }: { request: ApiRequest }) {
  return (
    <span class="copy-as">
      <span class="muted small">Copy as</span>
      <CopyButton isLarge label="curl" what="as curl" text={() => curlOf(request, document.baseURI)} />
      {hasCommand(request) && (
        <CopyButton
          isLarge
          label="CLI"
          what="as CLI command"
          text={() => cliOf(request, document.baseURI) ?? ''}
        />
      )}
    </span>
  );
}
