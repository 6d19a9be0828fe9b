import type { ApiRequest } from '../api/api-client.ts';
import { hasCommand, toCommandLine, toCurl } from '../api/request-commands.ts';
import { CopyButton } from './copy-button.tsx';

/** One request, or several that are sent one after the other. */
export type Requests = ApiRequest | readonly ApiRequest[];

/** Buttons that copy requests as commands. The commands read the admin key from a shell variable. */
export function CopyAs({ request }: { request: Requests }) {
  const requests = 'path' in request ? [request] : request;
  const commandLines = (command: (request: ApiRequest, base: string) => string | null) => () =>
    requests.map((each) => command(each, document.baseURI)).join('\n');
  return (
    <span class="row copy-as">
      <span class="muted small">Copy as</span>
      <CopyButton isLarge label="curl" what="as curl" text={commandLines(toCurl)} />
      {requests.every(hasCommand) && (
        <CopyButton isLarge label="CLI" what="as CLI command" text={commandLines(toCommandLine)} />
      )}
    </span>
  );
}
