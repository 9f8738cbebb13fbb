/** A change of one place in the sources that `npm test` has to notice. */
export interface PlantedBug {
  /** The wrong behaviour, in a sentence. */
  readonly name: string;
  readonly file: string;
  /** Text that stands once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Files or folders of `npm test` that are run against the bug. */
  readonly tests: readonly string[];
}

const VALIDATORS = ['test/unit/validators'];
const WARP = ['test/unit/warp'];
const ENCODING = ['test/unit/lib/encoding'];
const CONCURRENCY = ['test/unit/lib/concurrency'];
const P2P = ['test/unit/p2p'];
const BLS = ['test/unit/bls/curve', 'test/unit/bls/backends'];
const COLLECTION = ['test/unit/aggregation/collection'];
const REQUEST = ['test/unit/aggregation'];
const GO_FILE = ['test/unit/config/go-aggregator'];
const PROXY = ['test/unit/proxy', 'test/integration/proxy/cache.test.ts', 'test/integration/proxy/faults.test.ts'];

export const PLANTED_BUGS: readonly PlantedBug[] = [
  // Canonical sets, quorum and verification.
  {
    name: 'the needed weight is rounded down',
    file: 'src/validators/quorum.ts',
    find: 'totalWeight + QUORUM_DENOMINATOR - 1n)',
    replace: 'totalWeight)',
    tests: VALIDATORS,
  },
  {
    name: 'a quorum counts as reached only when it is exceeded',
    file: 'src/validators/quorum.ts',
    find: 'totalWeight <= QUORUM_DENOMINATOR',
    replace: 'totalWeight < QUORUM_DENOMINATOR',
    tests: VALIDATORS,
  },
  {
    name: 'the total weight leaves out validators without a key',
    file: 'src/validators/warp-set.ts',
    find: 'if (publicKey === undefined) {',
    replace: 'if (publicKey === undefined) {\n      totalWeight -= weight;',
    tests: VALIDATORS,
  },
  {
    name: 'validators that share a key do not add their weights',
    file: 'src/validators/warp-set.ts',
    find: 'known.weight += weight;',
    replace: '',
    tests: VALIDATORS,
  },
  {
    name: 'the canonical order looks at the flags of compressed keys',
    file: 'src/validators/warp-set.ts',
    find: 'const byHead = (headA & ~FLAG_BITS) - (headB & ~FLAG_BITS);',
    replace: 'const byHead = headA - headB;',
    tests: VALIDATORS,
  },
  {
    name: 'a message of another network is verified',
    file: 'src/validators/verify-signed-message.ts',
    find: 'unsignedMessage.networkID !== expected.networkID',
    replace: 'false',
    tests: VALIDATORS,
  },
  {
    name: 'a bit beyond the set is accepted',
    file: 'src/validators/verify-signed-message.ts',
    find: 'unknown.length > 0',
    replace: 'unknown.length > 1',
    tests: VALIDATORS,
  },
  {
    name: 'the signature is not checked',
    file: 'src/validators/verify-signed-message.ts',
    find: "return valid ? { kind: 'valid', signedWeight } : invalid('wrong signature');",
    replace: "return valid !== undefined ? { kind: 'valid', signedWeight } : invalid('wrong signature');",
    tests: VALIDATORS,
  },
  // Codecs.
  {
    name: 'zero-padded signers are accepted',
    file: 'src/lib/encoding/bit-set.ts',
    find: 'if (bytes[0] === 0) return undefined;',
    replace: '',
    tests: [...ENCODING, ...WARP],
  },
  {
    name: 'signer bits are counted from the first byte',
    file: 'src/lib/encoding/bit-set.ts',
    find: 'const at = bytes.length - 1 - Math.floor(index / 8);',
    replace: 'const at = Math.floor(index / 8);',
    tests: [...ENCODING, ...WARP],
  },
  {
    name: 'trailing bytes are ignored',
    file: 'src/lib/encoding/byte-reader.ts',
    find: 'if (this.remaining !== 0) throw',
    replace: 'if (this.remaining < 0) throw',
    tests: [...ENCODING, ...WARP],
  },
  {
    name: 'a length field may exceed its bound',
    file: 'src/lib/encoding/byte-reader.ts',
    find: 'if (length > maxLength) throw',
    replace: 'if (length > 2 * maxLength) throw',
    tests: [...ENCODING, ...WARP],
  },
  {
    name: 'fields alias the input instead of copying it',
    file: 'src/lib/encoding/byte-reader.ts',
    find: 'return copyBytes(this.#bytes.subarray(start, start + length));',
    replace: 'return this.#bytes.subarray(start, start + length);',
    tests: [...ENCODING, ...WARP],
  },
  {
    name: 'a message ID covers the payload only',
    file: 'src/warp/unsigned-message.ts',
    find: 'bytes: own, id: messageID(own)',
    replace: 'bytes: own, id: messageID(payload)',
    tests: WARP,
  },
  {
    name: 'any codec version is accepted',
    file: 'src/lib/encoding/byte-reader.ts',
    find: 'if (version !== 0) throw',
    replace: 'if (version > 1) throw',
    tests: [...ENCODING, ...WARP],
  },
  {
    name: 'a signature request has another handler ID',
    file: 'src/warp/signature-request.ts',
    find: 'SIGNATURE_REQUEST_HANDLER_ID = 0x02',
    replace: 'SIGNATURE_REQUEST_HANDLER_ID = 0x01',
    tests: WARP,
  },
  {
    name: 'a signature of any length is passed on',
    file: 'src/warp/signature-request.ts',
    find: 'signature.length !== BLS_SIGNATURE_LENGTH',
    replace: 'signature.length > BLS_SIGNATURE_LENGTH',
    tests: WARP,
  },
  {
    name: 'a registration of 2 counts as not registered',
    file: 'src/warp/l1-message.ts',
    find: 'if (registered > 1) throw',
    replace: 'if (registered > 2) throw',
    tests: WARP,
  },
  {
    name: 'a Teleporter message in another encoding is shown as one',
    file: 'src/warp/teleporter-message.ts',
    find: 'if (!equalBytes(encodeTeleporterMessage(parsed), bytes)) throw',
    replace: 'if (bytes.length === 0) throw',
    tests: WARP,
  },
  // BLS.
  {
    name: 'a point at infinity with another byte is well formed',
    file: 'src/bls/curve/point-encoding.ts',
    find: '&& x.every((byte) => byte === 0)',
    replace: '&& x.length > 0',
    tests: BLS,
  },
  {
    name: 'an uncompressed point is read as a compressed one',
    file: 'src/bls/curve/point-encoding.ts',
    find: 'bytes.length !== length || (flags & COMPRESSED) === 0',
    replace: 'bytes.length !== length',
    tests: BLS,
  },
  // Peer protocol.
  {
    name: 'an address dated far ahead is accepted',
    file: 'src/p2p/wire/signed-address.ts',
    find: 'nowMs + MAX_CLOCK_DIFFERENCE_MS) / 1000',
    replace: 'nowMs + 100 * MAX_CLOCK_DIFFERENCE_MS) / 1000',
    tests: P2P,
  },
  {
    name: 'an address is accepted without its signature',
    file: 'src/p2p/wire/signed-address.ts',
    find: '!verifyStakingSignature(certificate, encodeUnsignedAddress(address), signature)',
    replace: 'signature.length === 0',
    tests: P2P,
  },
  {
    name: 'port 0 is dialled',
    file: 'src/p2p/wire/signed-address.ts',
    find: 'port < 1 || port > 0xffff',
    replace: 'port < 0 || port > 0xffff',
    tests: P2P,
  },
  {
    name: 'a peer of another network is accepted',
    file: 'src/p2p/connection/handshake.ts',
    find: 'handshake.networkId !== expected.networkID',
    replace: 'handshake.networkId === 0',
    tests: P2P,
  },
  {
    name: 'a frame of any length is buffered',
    file: 'src/p2p/wire/frames.ts',
    find: 'if (length > MAX_FRAME_LENGTH) {\n      throw new ParseError(',
    replace: 'if (length > 2 ** 31) {\n      throw new ParseError(',
    tests: P2P,
  },
  {
    name: 'an answer for another chain settles a request',
    file: 'src/p2p/connection/app-requests.ts',
    find: 'request !== undefined && equalBytes(request.chainID, answer.chainId) ? request',
    replace: 'request !== undefined ? request',
    tests: P2P,
  },
  {
    name: 'a certificate with a weak RSA exponent is accepted',
    file: 'src/p2p/identity/certificate.ts',
    find: 'details?.publicExponent !== RSA_PUBLIC_EXPONENT',
    replace: 'details?.publicExponent === undefined',
    tests: P2P,
  },
  // P-Chain.
  {
    name: 'integers beyond 2^53 lose digits',
    file: 'src/pchain/codec/exact-json.ts',
    find: 'if (source.length <= MAX_DIGITS) return BigInt(source);',
    replace: 'if (source.length <= MAX_DIGITS) return Number(source);',
    tests: ['test/unit/pchain'],
  },
  // Aggregation.
  {
    name: 'a refusal that may pass is final',
    file: 'src/aggregation/collection/refusal-verdict.ts',
    find: "  return 'may pass';\n}",
    replace: "  return 'for good';\n}",
    tests: REQUEST,
  },
  {
    name: 'an L1 removal is signed for a justification of another validation',
    file: 'src/aggregation/l1/l1-justification.ts',
    find: 'if (equalBytes(hashConversionValidator(subnet, index), wanted))',
    replace: 'if (wanted.length > 0)',
    tests: REQUEST,
  },
  {
    name: 'every subnet is allowed',
    file: 'src/aggregation/subnet-policy.ts',
    find: 'if (isAllowed(subnetID)) return;',
    replace: 'if (allowed !== undefined) return;',
    tests: REQUEST,
  },
  {
    name: 'a failure stays cached after its time',
    file: 'src/aggregation/request/negative-cache.ts',
    find: 'nowMs >= failure.untilMs',
    replace: 'nowMs < 0',
    tests: REQUEST,
  },
  {
    name: 'a connected validator does not end a cached failure',
    file: 'src/aggregation/request/negative-cache.ts',
    find: "error.code !== 'not_connected' ||",
    replace: "error.code === 'not_connected' ||",
    tests: REQUEST,
  },
  {
    name: 'an invalid signature is asked for again',
    file: 'src/aggregation/collection/query-plan.ts',
    find: "    case 'invalid_signature':\n      return { kind: 'failed', failure };",
    replace: "    case 'invalid_signature':\n      return waiting(nowMs);",
    tests: REQUEST,
  },
  {
    name: 'a collection goes on when the quorum is out of reach',
    file: 'src/aggregation/collection/query-plan.ts',
    find: 'signedWeight + possible < neededWeight',
    replace: 'signedWeight + possible < 0n',
    tests: COLLECTION,
  },
  // HTTP.
  {
    name: 'two Host headers are accepted',
    file: 'src/http/request/request-headers.ts',
    find: 'countHosts(rawHeaders) > 1',
    replace: 'countHosts(rawHeaders) > 2',
    tests: ['test/faults/hostile-requests.test.ts', 'test/unit/http'],
  },
  {
    name: 'a body of another coding is read as plain text',
    file: 'src/http/request/request-headers.ts',
    find: "coding.toLowerCase() !== 'identity'",
    replace: "coding === ''",
    tests: ['test/faults/hostile-requests.test.ts', 'test/unit/http'],
  },
  {
    name: 'a key may use the routes of another group',
    file: 'src/http/access/api-keys.ts',
    find: 'if (apiKey.routes.includes(group)) return undefined;',
    replace: 'if (apiKey.routes.length > 0) return undefined;',
    tests: ['test/unit/http/access', 'test/integration/proxy/access.test.ts'],
  },
  {
    name: 'IPv6 clients are counted by their whole address',
    file: 'src/http/access/client-identity.ts',
    find: 'groups.slice(0, 4)',
    replace: 'groups.slice(0, 8)',
    tests: ['test/unit/http', 'test/integration/proxy/access.test.ts'],
  },
  {
    name: 'refused units are taken from the client',
    file: 'src/store/local/limit-counters.ts',
    find: 'if (ns > maxNs) return { isTaken: false, ns: beforeNs };',
    replace:
      'if (ns > maxNs) emptyAtNs.set(key, nowNs + ns);\n      if (ns > maxNs) return { isTaken: false, ns: beforeNs };',
    tests: ['test/unit/store', 'test/unit/http'],
  },
  {
    name: 'any page may read the answers',
    file: 'src/http/access/cors.ts',
    find: 'origin !== undefined && origins.includes(origin)',
    replace: 'origin !== undefined',
    tests: ['test/unit/http', 'test/integration/proxy/cors.test.ts'],
  },
  {
    name: 'bodies of one client may fill all memory for bodies',
    file: 'src/http/server/request-bodies.ts',
    find: 'limit: maxBytes, keyShare: 1 }',
    replace: 'limit: maxBytes, keyShare: 1_000 }',
    tests: ['test/unit/http/server'],
  },
  // Concurrency.
  {
    name: 'backoff grows without a bound',
    file: 'src/lib/concurrency/backoff.ts',
    find: 'Math.min(baseMs * 2 ** (failures - 1), maxMs)',
    replace: 'Math.max(baseMs * 2 ** (failures - 1), maxMs)',
    tests: CONCURRENCY,
  },
  {
    name: 'a token bucket fills beyond its capacity',
    file: 'src/lib/concurrency/token-bucket.ts',
    find: 'Math.min(',
    replace: 'Math.max(',
    tests: CONCURRENCY,
  },
  {
    name: 'values are given after their age',
    file: 'src/lib/cache/fresh-cache.ts',
    find: 'this.#options.clock.monotonicMs() < kept.staleFromMs',
    replace: 'this.#options.clock.monotonicMs() <= kept.staleFromMs',
    tests: ['test/unit/lib/cache'],
  },
  {
    name: 'a permit may be released twice',
    file: 'src/lib/concurrency/fair-semaphore.ts',
    find: 'const release = (part = left): void => {\n      if (left === 0) return;',
    replace: 'const release = (part = left): void => {',
    tests: CONCURRENCY,
  },
  // Shared store.
  {
    name: 'a value of the shared store is used whoever wrote it',
    file: 'src/store/redis/seal.ts',
    find: 'return timingSafeEqual(sealed.subarray(0, TAG_BYTES), tagOf(key, value)) ? value : undefined;',
    replace: 'return value;',
    tests: ['test/unit/store'],
  },
  {
    name: 'networks with the same name share their keys in Redis',
    file: 'src/store/redis/shared-parts.ts',
    find: 'const values = createSharedValues(store, scope);',
    replace: 'const values = createSharedValues(store, networkName);',
    tests: ['test/unit/store/redis'],
  },
  {
    name: 'a sealed value may be copied to another network',
    file: 'src/store/redis/shared-parts.ts',
    find: 'const seal = createSeal(secret, scope);',
    replace: 'const seal = createSeal(secret, networkName);',
    tests: ['test/unit/store/redis'],
  },
  {
    name: 'an invalid registration in Redis counts as another user of the identity',
    file: 'src/store/redis/identity-registration.ts',
    find: "?.groups?.['description'];",
    replace: "?.groups?.['description'] ?? 'unknown';",
    tests: ['test/unit/store/redis'],
  },
  {
    name: 'a sealed value may be moved to another key',
    file: 'src/store/redis/seal.ts',
    find: '.update(name)',
    replace: '',
    tests: ['test/unit/store'],
  },
  // Proxy.
  {
    name: 'an upstream error page is cached',
    file: 'src/proxy/client/response-cache.ts',
    find: 'if (response.status !== 200) return',
    replace: 'if (response.status > 999) return',
    tests: PROXY,
  },
  {
    name: 'an upstream answer may exceed its bound',
    file: 'src/proxy/client/exchange.ts',
    find: 'if (this.#length > this.#rules.maxBytes) {',
    replace: 'if (this.#length < 0) {',
    tests: PROXY,
  },
  {
    name: 'the circuit of an upstream never opens',
    file: 'src/proxy/client/circuit-breaker.ts',
    find: "this.#state.kind !== 'closed' || this.#count() >= this.#options.maxFailures",
    replace: 'this.#count() < 0',
    tests: ['test/unit/proxy', 'test/integration/proxy/circuit.test.ts'],
  },
  // The Go aggregator's binary, and the process.
  {
    name: 'npm start does not become the service',
    file: 'package.json',
    find: '"exec node --max-semi-space-size=8 src/start.js"',
    replace: '"node --max-semi-space-size=8 src/start.js; true"',
    tests: ['test/integration/service/launcher.test.ts'],
  },
  {
    name: 'the service outlives a launcher that is killed',
    file: 'src/newer-node.js',
    find: "process.on('disconnect', () => process.exit(1));",
    replace: "process.on('disconnect', () => undefined);",
    tests: ['test/integration/service/launcher.test.ts'],
  },
  {
    name: 'a start that fails logs a stop',
    file: 'src/app.ts',
    find: "logger.info({ nodeID: identity.nodeID }, 'staking identity');",
    replace: "opened.defer(() => logger.info('stopping'));",
    tests: ['test/unit/cli/commands'],
  },
  {
    name: "the Go binary's launcher stays the parent of the service",
    file: 'src/signature-aggregator',
    find: 'exec "$node"',
    replace: '"$node"',
    tests: ['test/integration/service/go-binary.test.ts'],
  },
  {
    name: 'a null in a Go file is a value',
    file: 'src/config/go-aggregator/go-file.ts',
    find: 'const value = object[key] ?? undefined;',
    replace: 'const value = object[key];',
    tests: GO_FILE,
  },
  {
    name: 'log levels of a Go file are compared with their case',
    file: 'src/config/go-aggregator/go-file.ts',
    find: 'convert: (level: string) => LOG_LEVELS[level.toLowerCase()],',
    replace: 'convert: (level: string) => LOG_LEVELS[level],',
    tests: GO_FILE,
  },
  {
    name: 'an unknown key of a Go file is ignored',
    file: 'src/config/go-aggregator/go-file.ts',
    find: 'if (unknown.length > 0) {',
    replace: 'if (unknown.length > 99) {',
    tests: GO_FILE,
  },
  {
    name: 'keys of a Go file are not read from the environment',
    file: 'src/config/go-aggregator/go-file.ts',
    find: 'if (text !== undefined) changed[key] = text;',
    replace: '',
    tests: GO_FILE,
  },
  {
    name: 'missing TLS files are not created',
    file: 'src/p2p/identity/identity.ts',
    find: 'await publish(certificatePath, newPem, folderMode)',
    replace: 'newPem',
    tests: ['test/unit/p2p/identity', 'test/integration/service/go-binary.test.ts'],
  },
  // Secrets.
  {
    name: 'a key in the path of a base URL is printed',
    file: 'src/config/schema/mask.ts',
    find: "return rest === '' ? text : `${origin}/${MASK}`;",
    replace: 'return text;',
    tests: ['test/unit/config'],
  },
  {
    name: 'passwords in URLs are printed',
    file: 'src/config/schema/mask.ts',
    find: 'text.replace(/\\/\\/.*@/s, `//${MASK}@`)',
    replace: 'text',
    tests: ['test/unit/config'],
  },
];
