/** What commands say of limits that are not the tenant's own: they cannot know those of the running service. */
export const DEFAULTS_NOTE =
  "Limits that a tenant does not set come from this command's environment variables, which may differ from those of the running service.";
