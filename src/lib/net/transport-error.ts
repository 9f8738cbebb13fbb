/** Codes of undici's errors for arguments that it cannot send. */
const MISUSE: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_INVALID_RETURN_VALUE',
  'UND_ERR_NOT_SUPPORTED',
  'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
]);

/** Throws an error of the program, which is no failure of a connection: a request was built that undici cannot send. */
export function rethrowMisuse(cause: unknown): void {
  if (MISUSE.has(codeOf(cause) ?? '')) throw cause;
}

/** Describes a connection failure for operators. The texts of Node and undici contain host and port. */
export function describeTransportError(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  // An AggregateError of several addresses has a code and an empty message.
  return ownWords(cause) ?? (cause.message || codeOf(cause) || cause.name);
}

/** Describes a connection failure for clients, without the address of the API. */
export function describeWithoutHosts(cause: unknown): string {
  const words = cause instanceof Error ? ownWords(cause) : undefined;
  if (words !== undefined) return `the connection failed: ${words}`;
  const code = codeOf(cause);
  return code === undefined ? 'the connection failed' : `the connection failed (${code})`;
}

const UNTRUSTED =
  'no authority that this machine trusts has signed its certificate; NODE_EXTRA_CA_CERTS names a file with further ones';

/** For errors whose texts are OpenSSL's or Node's own, and name no host. */
const WORDS: ReadonlyMap<string, string> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', UNTRUSTED],
  ['SELF_SIGNED_CERT_IN_CHAIN', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT', UNTRUSTED],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', UNTRUSTED],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', UNTRUSTED],
  ['CERT_HAS_EXPIRED', 'its certificate has expired'],
]);

function ownWords(cause: Error): string | undefined {
  const code = codeOf(cause) ?? '';
  // The parser of Node and undici, which gives the code only at times.
  if (cause.message.includes('Expected HTTP/')) {
    return 'it does not answer in HTTP; if its port is one of HTTPS, write https://';
  }
  return code === 'EPROTO' || code.startsWith('ERR_SSL_') ? describeTlsError(cause.message) : WORDS.get(code);
}

/** @param text of OpenSSL: `…:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:…` */
function describeTlsError(text: string): string {
  const [, reason = ''] = /SSL routines:[^:]*:([^:]+)/.exec(text) ?? [];
  // The first bytes of an HTTP response, read as the head of a TLS record.
  if (/^(wrong version number|packet length too long|http request)$/.test(reason)) {
    return 'it does not speak TLS; if its port is one of HTTP, write http://';
  }
  return `TLS failed${reason === '' ? '' : `: ${reason}`}`;
}

/** Returns a code such as ECONNREFUSED. */
function codeOf(cause: unknown): string | undefined {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^\w+$/.test(code) ? code : undefined;
}
