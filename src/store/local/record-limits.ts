/** Recent requests for signatures that are kept, in each of two lists: signed ones, and all others. Without imports, for the console. */
export const MAX_RECORDS_EACH = 1_000;
export const MAX_RECORDS = 2 * MAX_RECORDS_EACH;
