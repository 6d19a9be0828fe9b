/** Role defaults that change the text form of values or the meaning of statements. */
export const HOSTILE_SETTINGS: Readonly<Record<string, string>> = {
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'iso_8601',
  TimeZone: 'Asia/Kathmandu',
  extra_float_digits: '-15',
  bytea_output: 'escape',
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  gin_fuzzy_search_limit: '1',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
};

/** Returns the statements that make the settings the current role's defaults in a database. */
export function hostileDefaults(database: string): string {
  return Object.entries(HOSTILE_SETTINGS)
    .map(([name, value]) => `ALTER ROLE CURRENT_USER IN DATABASE ${database} SET ${name} = '${value}';`)
    .join('\n');
}
