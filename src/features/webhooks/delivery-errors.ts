/** Reasons for a failed delivery. */
export const DELIVERY_ERRORS = [
  'address_not_allowed',
  'connection_failed',
  'name_not_resolved',
  'redirected',
  'rejected',
  'timeout',
  'tls_failed',
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];
