/**
 * What is used of node:http. A module that imports it has Node look at all that it exports, and so load fetch, web sockets and HTTP/2: a
 * fifteenth of the start, and some MB. Types can be imported from where they are.
 */
export const { Agent, createServer, METHODS, request, Server, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');
