/**
 * Exports of node:http in use. A plain import makes Node evaluate all exports, which loads fetch, web sockets and HTTP/2: a fifteenth of
 * the startup time, and some MB. Type imports are free.
 */
export const { METHODS, Server, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');
