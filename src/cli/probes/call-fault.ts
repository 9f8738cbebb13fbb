/** Why no connection, or no answer, came about; what an operator can do; and whether it may pass without that. */
export interface CallFault {
  readonly cause: string;
  readonly cure: string;
  readonly mayPass: boolean;
}

const UNTRUSTED: CallFault = {
  cause: 'no authority that this machine trusts has signed its certificate',
  cure: 'name a file with its authority in NODE_EXTRA_CA_CERTS, also for the service',
  mayPass: false,
};
const UNREACHABLE: CallFault = {
  cause: 'its host cannot be reached',
  cure: 'check host and port, and the firewalls on the way',
  mayPass: true,
};
const CLOSED: CallFault = {
  cause: 'it closed the connection without an answer',
  cure: 'check its port and whether it is one of https; a proxy before it may be overloaded',
  mayPass: true,
};
const NO_TLS: CallFault = {
  cause: 'it does not speak TLS at this port',
  cure: 'write http:// in place of https://, or take its port of https',
  mayPass: false,
};
const ONLY_TLS: CallFault = {
  cause: 'it does not speak plain HTTP at this port',
  cure: 'write https:// in place of http://, or take its port of http',
  mayPass: false,
};
const REFUSED: CallFault = {
  cause: 'nothing listens at its address: the node is down, or the port is wrong',
  cure: 'start the node, or correct host and port',
  mayPass: false,
};
/** A process that is stopped, or a node without CPU, still has its connections accepted by the kernel. */
export const HANGING: CallFault = {
  cause: 'it is connected, and does not answer: the node hangs, or is overloaded',
  cure: 'restart the node if it stays so, or name another endpoint',
  mayPass: true,
};

/** By the codes of Node, undici and OpenSSL. */
const FAULTS: ReadonlyMap<string, CallFault> = new Map([
  ['ECONNREFUSED', REFUSED],
  ['EHOSTUNREACH', UNREACHABLE],
  ['ENETUNREACH', UNREACHABLE],
  ['ETIMEDOUT', UNREACHABLE],
  ['UND_ERR_CONNECT_TIMEOUT', UNREACHABLE],
  ['ECONNRESET', CLOSED],
  ['UND_ERR_SOCKET', CLOSED],
  [
    'ENOTFOUND',
    { cause: 'there is no host of this name', cure: 'correct the name of the host, or the DNS', mayPass: false },
  ],
  ['EAI_AGAIN', { cause: 'the DNS does not answer', cure: 'check the DNS of this machine', mayPass: true }],
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNTRUSTED],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNTRUSTED],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNTRUSTED],
  ['CERT_HAS_EXPIRED', { cause: 'its certificate has expired', cure: 'renew its certificate', mayPass: false }],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    { cause: 'its certificate is for other names', cure: 'take a host that its certificate names', mayPass: false },
  ],
  ['ERR_SSL_WRONG_VERSION_NUMBER', NO_TLS],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', NO_TLS],
  ['ERR_SSL_HTTP_REQUEST', NO_TLS],
]);
/** What the parser of Node and undici reports about bytes that are no HTTP, such as an alert of TLS. */
const NO_HTTP = /Expected HTTP\//;
/** What servers of Go and nginx answer in plain HTTP at a port of TLS. */
const PLAIN_TO_TLS = /HTTP request (was sent )?to (an )?HTTPS/i;
/** An error, the failure of the connection below it, and one below that. */
const MAX_CAUSES = 4;

/** Finds the fault of a connection in an error and its causes; undefined for other failures. */
export function findFault(error: unknown): CallFault | undefined {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    if (NO_HTTP.test(current.message) || PLAIN_TO_TLS.test(current.message)) return ONLY_TLS;
    const code = 'code' in current ? String(current.code) : '';
    // OpenSSL's own code is in the text only.
    if (code === 'EPROTO' && /wrong version number|packet length too long|http request/.test(current.message))
      return NO_TLS;
    const fault = FAULTS.get(code);
    // The socket's failure has the finer cause below it.
    if (fault !== undefined && (fault !== CLOSED || !(current.cause instanceof Error))) return fault;
    current = current.cause;
  }
  return undefined;
}
