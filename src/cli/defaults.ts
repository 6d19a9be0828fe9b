/** What commands say of limits that are not the tenant's own: they cannot know those of the running service. */
export const DEFAULTS_NOTE =
  "Limits from the environment are the defaults of this command's environment variables. A service that was started with others has other limits.";
