import { ServiceError } from '../errors/errors.ts';
import type { StreamCallers } from '../http/streams.ts';
import type { AdminAuthenticator } from '../tenants/authenticator.ts';
import { callerName, requireAdministrator } from './admin-authentication.ts';
import { authorize } from './permissions.ts';

/** Returns the admins with open streams. */
export function adminCallers(authenticator: AdminAuthenticator): StreamCallers {
  return {
    countedAs: callerName,
    releaseCapacity: ({ slot }) => slot?.release(),
    async verify(request) {
      const before = requireAdministrator(request);
      const now = await authenticator.authenticate(request);
      authorize(now, request);
      const isSame =
        now.access === before.access &&
        JSON.stringify(now.onlyTenants) === JSON.stringify(before.onlyTenants);
      if (!isSame) throw new ServiceError('access_changed');
      return now;
    },
  };
}
