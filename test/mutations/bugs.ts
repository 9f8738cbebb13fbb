const VALIDATORS = ['test/unit/validators'];
const DOCTOR = ['test/unit/cli/doctor', 'test/unit/cli/probes'];
const CODECS = ['test/unit/lib/encoding', 'test/unit/warp'];
const WARP = ['test/unit/warp'];
const CONCURRENCY = ['test/unit/lib/concurrency'];
const P2P = ['test/unit/p2p'];
const BLS = ['test/unit/bls/curve', 'test/unit/bls/backends'];
const COLLECTION = ['test/unit/aggregation/collection'];
const REQUEST = ['test/unit/aggregation'];
const RECEIPTS = ['test/unit/pchain/codec/evm-receipt.test.ts'];
const GO_FILE = ['test/unit/config/go-aggregator'];
const PROXY = ['test/unit/proxy', 'test/integration/proxy/cache.test.ts', 'test/integration/proxy/faults.test.ts'];
const GO_API = ['test/unit/api/go-aggregator', 'test/integration/service/go-corpus.test.ts'];
const FEED = ['test/unit/feed', 'test/simulation/feed.test.ts'];
const BODIES = ['test/unit/http/server/request-bodies.test.ts'];
const ACCESS = ['test/unit/http/access', 'test/integration/proxy/access.test.ts'];
const HEADERS = ['test/faults/hostile-requests.test.ts', 'test/unit/http'];

/** Violations of the simulation after all faults are over. */
const RECOVERY = /after the recovery|no recovery/;

/** A change of one place in the sources that a suite of tests has to notice. */
export type PlantedBug = BugOfTests | BugOfSimulation;

interface Change {
  /** The wrong behaviour in words; no two bugs have the same. */
  readonly name: string;
  readonly file: string;
  /** Text that stands once in the file. */
  readonly find: string;
  readonly replace: string;
}

/** Found by `npm test`. */
export interface BugOfTests extends Change {
  /** Files or folders of `npm test` that are run against the bug. */
  readonly tests: readonly string[];
}

/** Found by `npm run test:simulation`. */
export interface BugOfSimulation extends Change {
  readonly world: 'service' | 'replicas' | 'feed';
  /** Matches the violation that the simulation must report. */
  readonly violation: RegExp;
  /** A seed that finds the bug, tried first: for bugs that only a rare schedule finds. */
  readonly seed?: number | undefined;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  ...bugsOf('src/validators/quorum.ts', VALIDATORS, {
    'the needed weight is rounded down': ['totalWeight + QUORUM_DENOMINATOR - 1n)', 'totalWeight)'],
    'a quorum counts as reached only when it is exceeded': ['<= QUORUM_DENOMINATOR', '< QUORUM_DENOMINATOR'],
  }),
  ...bugsOf('src/validators/warp-set.ts', VALIDATORS, {
    'the total weight leaves out validators without a key': [
      'if (publicKey === undefined) {',
      'if (publicKey === undefined) {\n      totalWeight -= weight;',
    ],
    'validators that share a key do not add their weights': ['known.weight += weight;', ''],
    'the canonical order looks at the flags of compressed keys': [
      'const byHead = (headA & ~FLAG_BITS) - (headB & ~FLAG_BITS);',
      'const byHead = headA - headB;',
    ],
  }),
  ...bugsOf('src/validators/verify-signed-message.ts', VALIDATORS, {
    'a message of another network is verified': ['unsignedMessage.networkID !== expected.networkID', 'false'],
    'a bit beyond the set is accepted': ['unknown.length > 0', 'unknown.length > 1'],
    'the signature is not checked': ['return valid ?', 'return valid !== undefined ?'],
  }),
  ...bugsOf('src/cli/doctor/findings.ts', DOCTOR, {
    "one endpoint's refusal of a height is taken for all": ['heights.every(hasFailed)', 'heights.some(hasFailed)'],
    "one endpoint's refusal of a method is taken for all": [
      'const missing = failed.filter(({ method }) => !served.has(method));',
      'const missing = failed;',
    ],
  }),
  ...bugsOf('src/cli/probes/validator-report.ts', DOCTOR, {
    'a peer that closes after its handshake seems never to have answered': ["  lost: 'handshake',\n", ''],
  }),
  ...bugsOf('src/lib/encoding/bit-set.ts', CODECS, {
    'zero-padded signers are accepted': ['if (bytes[0] === 0) return undefined;', ''],
    'signer bits are counted from the first byte': ['const at = bytes.length - 1 - Math.', 'const at = Math.'],
  }),
  ...bugsOf('src/lib/encoding/byte-reader.ts', CODECS, {
    'trailing bytes are ignored': ['if (this.remaining !== 0) throw', 'if (this.remaining < 0) throw'],
    'a length field may exceed its bound': ['if (length > maxLength) throw', 'if (length > 2 * maxLength) throw'],
    'fields alias the input instead of copying it': [
      'return copyBytes(this.#bytes.subarray(start, start + length));',
      'return this.#bytes.subarray(start, start + length);',
    ],
    'any codec version is accepted': ['if (version !== 0) throw', 'if (version > 1) throw'],
  }),
  ...bugsOf('src/warp/unsigned-message.ts', WARP, {
    'a message ID covers the payload only': ['bytes: own, id: messageID(own)', 'bytes: own, id: messageID(payload)'],
  }),
  ...bugsOf('src/warp/signature-request.ts', WARP, {
    'a signature request has another handler ID': [
      'SIGNATURE_REQUEST_HANDLER_ID = 0x02',
      'SIGNATURE_REQUEST_HANDLER_ID = 0x01',
    ],
    'a signature of any length is passed on': ['.length !== BLS_SIGNATURE_LENGTH', '.length > BLS_SIGNATURE_LENGTH'],
  }),
  ...bugsOf('src/warp/l1-message.ts', WARP, {
    'a registration of 2 counts as not registered': ['if (registered > 1) throw', 'if (registered > 2) throw'],
  }),
  ...bugsOf('src/warp/teleporter-message.ts', WARP, {
    'a Teleporter message in another encoding is shown as one': [
      'if (!equalBytes(encodeTeleporterMessage(parsed), bytes)) throw',
      'if (bytes.length === 0) throw',
    ],
  }),
  ...bugsOf('src/bls/curve/point-encoding.ts', BLS, {
    'a point at infinity with another byte is well formed': ['&& x.every((byte) => byte === 0)', '&& x.length > 0'],
    'an uncompressed point is read as a compressed one': ['!== length || (flags & COMPRESSED) === 0', '!== length'],
  }),
  ...bugsOf('src/p2p/wire/signed-address.ts', P2P, {
    'an address dated far ahead is accepted': ['+ MAX_CLOCK_DIFFERENCE_MS', '+ 100 * MAX_CLOCK_DIFFERENCE_MS'],
    'an address is accepted without its signature': [
      '!verifyStakingSignature(certificate, encodeUnsignedAddress(address), signature)',
      'signature.length === 0',
    ],
    'port 0 is dialled': ['port < 1 || port > 0xffff', 'port < 0 || port > 0xffff'],
  }),
  ...bugsOf('src/p2p/connection/handshake.ts', P2P, {
    'a peer of another network is accepted': ['.networkId !== expected.networkID', '.networkId === 0'],
  }),
  ...bugsOf('src/p2p/wire/frames.ts', P2P, {
    'a frame of any length is buffered': ['> MAX_FRAME_LENGTH) {\n      throw new', '> 2 ** 31) {\n      throw new'],
  }),
  ...bugsOf('src/p2p/connection/app-requests.ts', P2P, {
    'an answer for another chain settles a request': ['&& equalBytes(request.chainID, answer.chainId) ?', '?'],
  }),
  ...bugsOf('src/p2p/connection/unrequested-time.ts', P2P, {
    'each peer has a share of the time, however many peers flood': [
      'MAX_ALL_MS_PER_TICK - this.#usedMs)',
      'MAX_ALL_MS_PER_TICK)',
    ],
  }),
  ...bugsOf('src/p2p/connection/paced-inbox.ts', P2P, {
    'a peer may flood for any time': [
      'if (this.#heldTicks >= MAX_HELD_TICKS) return',
      'if (this.#heldTicks < 0) return',
    ],
    'answers to our requests count as a flood': ['if (isRequested) return;', ''],
  }),
  ...bugsOf('src/p2p/identity/certificate.ts', P2P, {
    'a certificate with a weak RSA exponent is accepted': ['!== RSA_PUBLIC_EXPONENT', '=== undefined'],
  }),
  ...bugsOf('src/pchain/codec/exact-json.ts', ['test/unit/pchain'], {
    'integers beyond 2^53 lose digits': ['<= MAX_DIGITS) return BigInt(source', '<= MAX_DIGITS) return Number(source'],
  }),
  ...bugsOf('src/lib/encoding/json-source.ts', ['test/unit/lib/encoding'], {
    'the nesting of JSON has no bound': ['if (depth > levels) return', 'if (depth < 0) return'],
    'an escaped quotation mark ends a text of JSON': [
      'if ((at - before) % 2 === 0) return at;',
      'return at + before - before;',
    ],
  }),
  ...bugsOf('src/lib/net/exchange.ts', ['test/unit/lib/net', 'test/integration/pchain'], {
    'any number of long bodies are read at once': ['permits.use(await acquireLong())', 'void acquireLong'],
    'the sentence of an HTTP error names the host': ['sentence && this.address.redactHost(sentence)', 'sentence'],
  }),
  ...bugsOf('src/pchain/rpc/json-rpc.ts', ['test/integration/pchain'], {
    'an API that has recovered stays put aside': [
      'endpoint.asideUntilMs = HEALTHY;\n    return attempt;',
      'return attempt;',
    ],
    'an API is called before its Retry-After': [
      'if (retryAfterMs !== undefined) state.wait(retryAfterMs, message);',
      '',
    ],
    'a method that an API refuses is asked again and again': [
      'if (request.isRefusedAlone !== true) state.refuseMethod(method, rejection);',
      '',
    ],
    'a call that a deadline of its caller ended counts as aborted': [
      "error instanceof DeadlineExceeded ? 'unavailable'",
      "error instanceof RangeError ? 'unavailable'",
    ],
  }),
  ...bugsOf('src/pchain/rpc/json-rpc-attempt.ts', ['test/integration/pchain'], {
    'an answer to another request is taken': ['if (response.id !== id) throw', 'if (response.id === undefined) throw'],
    'an unknown error under an HTTP error is an answer': ["&& judged.subject === 'unknown'", '&& false'],
  }),
  ...bugsOf('src/pchain/rpc/validators-at.ts', ['test/integration/pchain/validators-at.test.ts'], {
    'the proposed height is not read again after its set': ['if (after.result === height) return set;', 'return set;'],
    'a height is not asked for again after an error of any text': [
      'if (isAboutHeight(refused.rejection.message)) endpoint',
      'endpoint',
    ],
    'the set of another height is given': ['if (before.result !== height) return', 'if (before.result < 0n) return'],
  }),
  ...bugsOf('src/pchain/rpc/node-api.ts', ['test/integration/pchain/node-api.test.ts'], {
    'the second entry of a NodeID in a validator set replaces the first': ['requireUniqueNodeIDs(response);', ''],
    'a duplicate NodeID in escaped characters is not found': [
      "(parseJson(response.slice(start, end + 1), 'name') as string)",
      'response.slice(start + 1, end)',
    ],
  }),
  ...bugsOf('src/pchain/codec/l1-transaction.ts', ['test/unit/pchain/codec', 'test/unit/aggregation/transactions'], {
    'a transaction of auto-renewed validators is of an unknown type': ["  [42, 'RewardAutoRenewedValidatorTx'],\n", ''],
  }),
  ...bugsOf('src/pchain/codec/l1-transaction.ts', ['test/unit/aggregation/transactions'], {
    'a transaction of an unknown type is malformed': [
      "return { kind: 'other', name: `transaction of the unknown type ${typeID}` };",
      "throw new ParseError('P-Chain transaction', 'is of an unknown type');",
    ],
  }),
  ...bugsOf('src/pchain/codec/p-chain-block.ts', ['test/unit/pchain/codec'], {
    'a transaction that cannot be parsed stops the index at its block': [
      'return origins ?? [];',
      "if (origins === undefined) throw new Error('malformed');\n  return origins;",
    ],
  }),
  ...bugsOf('src/aggregation/collection/refusal-verdict.ts', REQUEST, {
    'a refusal that may pass is final': ["  return 'may pass';\n}", "  return 'for good';\n}"],
  }),
  ...bugsOf('src/aggregation/transactions/l1-justification.ts', REQUEST, {
    'an L1 removal is signed for a justification of another validation': [
      'if (equalBytes(hashConversionValidator(subnet, index), wanted))',
      'if (wanted.length > 0)',
    ],
  }),
  ...bugsOf('src/pchain/codec/evm-receipt.ts', RECEIPTS, {
    'the receipt of another EVM transaction is accepted': ['.toLowerCase() !== txHash) {', ".toLowerCase() === '') {"],
    'a log of SendWarpMessage by any contract counts': ['.toLowerCase() !== WARP_PRECOMPILE', ".toLowerCase() === ''"],
  }),
  ...bugsOf(
    'src/aggregation/transactions/messages-of-evm-transactions.ts',
    ['test/integration/service/evm-transactions.test.ts'],
    {
      'the search asks all blockchains of the network': [
        'all.filter(({ subnetID }) => subnetIDs.has(subnetID))',
        'all',
      ],
      'an EVM transaction of several messages has its first one signed': [
        'only !== undefined && chosen.length === 1',
        'only !== undefined',
      ],
    },
  ),
  ...bugsOf('src/aggregation/subnet-policy.ts', REQUEST, {
    'every subnet is allowed': ['if (isAllowed(subnetID)) return;', 'if (allowed !== undefined) return;'],
  }),
  ...bugsOf('src/aggregation/results/negative-cache.ts', REQUEST, {
    'a failure stays cached after its time': ['nowMs >= failure.untilMs', 'nowMs < 0'],
    'a connected validator does not end a cached failure': ["code !== 'not_connected' |", "code === 'not_connected' |"],
  }),
  ...bugsOf('src/aggregation/collection/validator-state.ts', COLLECTION, {
    'an invalid signature is asked for again': [
      "return { kind: 'failed', attempts, timeouts, failure, isForGood: false };",
      'return waiting(0);',
    ],
    'a refusal is forgotten when the validator is asked again': [
      "return { ...asked, kind: 'asking',",
      "return { attempts, timeouts, kind: 'asking',",
    ],
  }),
  ...bugsOf('src/aggregation/collection/collection-plan.ts', REQUEST, {
    'avoided validators are asked before the quorum needs them': [
      "if (kind === 'avoided' && is",
      "if (kind === 'doubtful' && is",
    ],
  }),
  ...bugsOf('src/aggregation/collection/collection-plan.ts', COLLECTION, {
    'a collection goes on when the quorum is out of reach': [
      'if (signedWeight + weightOf(seen, POSSIBLE) < neededWeight)',
      'if (signedWeight + weightOf(seen, POSSIBLE) < 0n)',
    ],
    'a collection waits for ever for an avoided validator beside one that refuses': [
      'isReachedWithoutAvoided(tally, seen) ? weightOf(seen, AVOIDED_OPEN) : 0n',
      '0n',
    ],
    'a collection waits beside answers that are due': ['return isIdle && needsRefusing ?', 'return needsRefusing ?'],
  }),
  ...bugsOf('src/aggregation/collection/tally.ts', COLLECTION, {
    'details name any number of validators': ['missing: missing.slice(0, MAX_MISSING)', 'missing'],
    'details report a validator that refused and is asked again as without an answer': [
      '  const known = knownOutcome(state);\n  if (known !== undefined) return known;',
      '  const known = knownOutcome({ ...state, refusal: undefined });\n  if (known !== undefined) return known;',
    ],
  }),
  ...bugsOf('src/aggregation/collection/progress.ts', COLLECTION, {
    'events report a validator that has refused as asked': [
      "status: outcome?.kind ?? (isAsked ? 'asked' : 'not_asked'),",
      "status: isAsked ? 'asked' : (outcome?.kind ?? 'not_asked'),",
    ],
    'progress reports the weight of the quorum as that of the quorum with its buffer': [
      'targetWeight,\n      signedWeight,\n      isVerifying',
      'targetWeight: neededWeight,\n      signedWeight,\n      isVerifying',
    ],
  }),
  ...bugsOf('src/aggregation/request/result-key.ts', ['test/unit/aggregation/request'], {
    'the result key ignores the buffer': ['|${quorumNum}|${quorumBuffer}|', '|${quorumNum}|'],
    'equal requests are found without their justification': ['signatureKey(subject);', 'subject.message.id;'],
  }),
  ...bugsOf('src/aggregation/signers/signing-question.ts', ['test/unit/aggregation/request'], {
    'requests for different destinations share a lookup': [
      'const ofDestination = [chainID, isRequired',
      'const ofDestination = [isRequired',
    ],
  }),
  ...bugsOf('src/aggregation/collection/validator-queries.ts', COLLECTION, {
    'a signature counts that arrives in the tick in which the collection ends': [
      "observeDelay('answers', excessMs);\n      over.throwIfAborted();",
      "observeDelay('answers', excessMs);",
    ],
    'of several nodes of a validator, the one that refused is asked again': ['a.times - b.times || a.is', 'a.is'],
  }),
  ...bugsOf('src/aggregation/collection/collected-signatures.ts', COLLECTION, {
    'a signature counts that is added in the tick in which the collection ends': [
      '    over.throwIfAborted();\n    if (outcome instanceof ParseError)',
      '    if (outcome instanceof ParseError)',
    ],
  }),
  ...bugsOf('src/aggregation/collection/stored-signatures.ts', REQUEST, {
    'a stored signature of an avoided validator is used': ['|| avoided.has(validator.index) ||', '||'],
  }),
  ...bugsOf('src/aggregation/collection/collection-plan.ts', ['test/unit/aggregation/refused-messages.test.ts'], {
    'until one signs, many validators that refused are asked again for one that waits': [
      'const PROBES = 2;',
      'const PROBES = 20;',
    ],
  }),
  ...bugsOf('src/aggregation/stages/share.ts', ['test/unit/aggregation/wait.test.ts'], {
    'a request without a wait is held by one that waits': [
      'at(this.#limits.repeatForMs, () => collection.notYet()),',
      '',
    ],
  }),
  ...bugsOf('src/aggregation/collection/collection.ts', ['test/unit/aggregation'], {
    'the time in the queue for a permit counts as time of repetitions': [
      'if (this.#isAwaitingExecution) this.#settle(',
      'this.#settle(',
    ],
  }),
  ...bugsOf(
    'src/aggregation/stages/find.ts',
    ['test/unit/aggregation/wait.test.ts', 'test/unit/aggregation/stages/find.test.ts'],
    {
      'each lookup of a wait has no permit': ['using _permit = await permits.acquire({ key: client }, flight);', ''],
      'each request that waits looks its transaction up for itself': [
        'waits.run(subjectKey(subject), look',
        'waits.run(subjectKey(subject) + Math.random(), look',
      ],
      'a request waits for what cannot pass': ['&& error.retryAfterMs !== undefined', ''],
    },
  ),
  ...bugsOf('src/aggregation/stages/remembered.ts', ['test/unit/aggregation/wait.test.ts'], {
    'a recent failure ends a wait': ['(clock.monotonicMs() < wait.untilMs && isPassing(failure))', 'false'],
  }),
  ...bugsOf('src/aggregation/stages/share.ts', ['test/unit/aggregation/request', 'test/unit/aggregation/stages'], {
    'a caller has more time than its own, as after a wait for another replica': [
      'inMs + durationMs',
      'inMs + 2 * durationMs',
    ],
  }),
  ...bugsOf('src/aggregation/stages/replicate.ts', ['test/unit/aggregation/request'], {
    'a replica waits for another one all the time that its request has': ['OWN_SHARE = 0.25', 'OWN_SHARE = 0'],
  }),
  ...bugsOf('src/aggregation/signers/signers-at-height.ts', REQUEST, {
    "a destination's epoch is used only where it is required": [
      'const reading = destination && (await',
      'const reading = destination?.isRequired && (await',
    ],
  }),
  ...bugsOf('src/aggregation/signers/signing-rule.ts', ['test/unit/aggregation/signers'], {
    'a message of the P-Chain follows requirePrimaryNetworkSigners': [
      "if (sourceChainID === P_CHAIN_ID) return { rule: 'destination_subnet', signingSubnetID: subnetID };",
      '',
    ],
    'a chain that is not read has the default signers': [
      "if (warp.kind === 'unreadable') return undefined;",
      "if (warp.kind === 'unreadable') return { rule: 'destination_subnet', signingSubnetID: subnetID };",
    ],
  }),
  ...bugsOf('src/aggregation/signers/delivery-warnings.ts', ['test/unit/aggregation/signers'], {
    'equal heights are compared by their sets, one of which may not be read': [
      'epoch === undefined || epoch.pChainHeight === pChainHeight',
      'epoch === undefined',
    ],
    'another set at the epoch is not noticed': ['=== warpSetHash(warpSet)) return', '!== undefined) return'],
  }),
  ...bugsOf('src/pchain/state/transaction-reader.ts', ['test/unit/pchain/state'], {
    'a transaction that is not accepted yet stays unknown': ['read === undefined ? 0 : Number', 'Number'],
  }),
  ...bugsOf('src/pchain/state/block-range.ts', ['test/unit/pchain/state'], {
    'earlier blocks of another branch are taken': ['blocks.at(-1)?.id !== low.parentID || ', ''],
  }),
  ...bugsOf('src/pchain/state/validator-funds.ts', ['test/unit/pchain/state'], {
    'an L1 validator with too low a balance is a signer like the others': ['= 2_048n', '= 2_047n'],
  }),
  ...bugsOf('src/aggregation/signers/message-verifier.ts', ['test/unit/aggregation/signers'], {
    'a verification of an unknown chain is free': ['() : penalties.lookUp(client, resolve)', '() : resolve()'],
  }),
  ...bugsOf('src/aggregation/subnets/subnet-views.ts', ['test/unit/aggregation/subnets'], {
    'a view of an unknown subnet is free': ['? find() : options.penalties.lookUp(client, find)', '? find() : find()'],
  }),
  ...bugsOf('src/aggregation/subnets/uptime-proofs.ts', ['test/unit/aggregation/subnets'], {
    'a search for the uptime of an unknown validation is free': [
      'return await penalties.lookUp(client, () => search(request, { client, signal: deadline.signal }));',
      'return await search(request, { client, signal: deadline.signal });',
    ],
  }),
  ...bugsOf('src/aggregation/admission/penalties.ts', ['test/unit/aggregation/admission'], {
    'an unknown destination chain is free': [
      "NOT_FOUND.has(code) || (code === 'invalid_request' && field === 'destinationChainID')",
      "NOT_FOUND.has(code) || field === 'transaction'",
    ],
  }),
  ...bugsOf('src/aggregation/admission/lookups.ts', ['test/unit/aggregation/admission'], {
    'an aggregation for an unknown chain is free': [
      'request.mayFindNothing ? await penalties.lookUp(request.client, work) : await work()',
      'await work()',
    ],
  }),
  ...bugsOf('src/http/request/request-headers.ts', HEADERS, {
    'two Host headers are accepted': ['countHosts(rawHeaders) > 1', 'countHosts(rawHeaders) > 2'],
    'a body of another coding is read as plain text': ["coding.toLowerCase() !== 'identity'", "coding === ''"],
  }),
  ...bugsOf('src/http/request/request-headers.ts', BODIES, {
    'a list of transfer codings that ends with chunked is accepted': [
      "transferCoding.toLowerCase() !== 'chunked'",
      "!transferCoding.toLowerCase().endsWith('chunked')",
    ],
  }),
  ...bugsOf('src/http/access/api-keys.ts', ACCESS, {
    'a key may use the routes of another group': [
      "if (group === 'operate' || apiKey.routes.includes(group)) return undefined;",
      'if (apiKey.routes.length > 0) return undefined;',
    ],
  }),
  ...bugsOf('src/http/request/client-identity.ts', ['test/unit/http', 'test/integration/proxy/access.test.ts'], {
    'IPv6 clients are counted by their whole address': ['groups.slice(0, 4)', 'groups.slice(0, 8)'],
  }),
  ...bugsOf('src/store/local/limit-counters.ts', ['test/unit/store', 'test/unit/http'], {
    'refused units are taken from the client': [
      'if (ns > maxNs) return { isTaken: false, ns: beforeNs };',
      'if (ns > maxNs) emptyAtNs.set(key, nowNs + ns);\n      if (ns > maxNs) return { isTaken: false, ns: beforeNs };',
    ],
  }),
  ...bugsOf('src/store/redis/shared-limit-counters.ts', ['test/unit/store'], {
    'a writer to Redis uses up a limit for years': ['math.min(before, tonumber(ARGV[3]))', 'before'],
    'a writer to Redis claims an action for years': ["redis.call('PEXPIRE', KEYS[1], ARGV[2])", ''],
  }),
  ...bugsOf('src/app/file-limits.ts', ['test/unit/app/file-limits.test.ts'], {
    'connections may need more files than the process may open': [
      'atMost(MAX_CONNECTIONS, free / 2 / listeners)',
      'MAX_CONNECTIONS',
    ],
  }),
  ...bugsOf('src/store/local/limit-counters.ts', ACCESS, {
    'units come back at the end of a fixed minute': ['> maxNs) return { isTaken:', '> 2 * maxNs) return { isTaken:'],
  }),
  ...bugsOf('src/http/access/cors.ts', ['test/unit/http', 'test/integration/proxy/cors.test.ts'], {
    'any page may read the answers': ['origin !== undefined && origins.includes(origin)', 'origin !== undefined'],
  }),
  ...bugsOf('src/http/server/request-bodies.ts', ['test/unit/http/server'], {
    'bodies of one client may fill all memory for bodies': [': maxBytes, keyShare: 1', ': maxBytes, keyShare: 1_000'],
  }),
  ...bugsOf('src/http/server/request-bodies.ts', BODIES, {
    'bytes of chunked bodies count nothing': ['#acquire(more)', '#declaredBytes === undefined || this.#acquire(more)'],
    'a declared or chunked body counts from its headers on': [
      "    request.on('data', (chunk: Buffer) => {",
      "    this.#acquire(this.#declaredBytes ?? 577_620);\n    request.on('data', (chunk: Buffer) => {",
    ],
    'bodies of the node RPC are in no bound': [
      'const permit = this.#permits.tryAcquire({ key: this.#client, weight: bytes });',
      'const permit =\n      this.#limit === 102_400\n        ? { release: () => undefined, [Symbol.dispose]: () => undefined }\n        : this.#permits.tryAcquire({ key: this.#client, weight: bytes });',
    ],
  }),
  ...bugsOf('src/lib/concurrency/backoff.ts', CONCURRENCY, {
    'backoff grows without a bound': ['Math.min(baseMs * 2 ** (failures - 1)', 'Math.max(baseMs * 2 ** (failures - 1)'],
  }),
  ...bugsOf('src/lib/concurrency/token-bucket.ts', CONCURRENCY, {
    'a token bucket fills beyond its capacity': ['Math.min(', 'Math.max('],
  }),
  ...bugsOf('src/lib/cache/fresh-cache.ts', ['test/unit/lib/cache'], {
    'values are given after their age': ['this.#options.clock.monotonicMs() <', 'this.#options.clock.monotonicMs() <='],
  }),
  ...bugsOf('src/lib/concurrency/fair-semaphore.ts', CONCURRENCY, {
    'a permit may be released twice': ['= left): void => {\n      if (left === 0) return;', '= left): void => {'],
    'a waiter that is aborted in the tick of its grant keeps the permit': ['permit.release();\n      throw', 'throw'],
  }),
  ...bugsOf('src/store/redis/seal.ts', ['test/unit/store'], {
    'a value of the shared store is used whoever wrote it': [
      'return timingSafeEqual(sealed.subarray(0, TAG_BYTES), tagOf(key, value)) ? value : undefined;',
      'return value;',
    ],
    'a sealed value may be moved to another key': ['.update(name)', ''],
  }),
  ...bugsOf('src/store/local/signature-store.ts', ['test/unit/store/local/signature-store.test.ts'], {
    'a flood of one signer evicts the signatures of others': ['own.size >= maxPerSigner', 'own.size < 0'],
  }),
  ...bugsOf('src/store/redis/distributed-single-flight.ts', ['test/unit/store/redis'], {
    'networks with the same name share their keys in Redis': ['${networkID}:${networkName}:', '${networkName}:'],
    'a collection that fails keeps its lease': [
      'shared.bytes.length >= MAX_VALUE_BYTES) this.#release(key, lease);',
      'shared.bytes.length >= MAX_VALUE_BYTES) void 0;',
    ],
  }),
  ...bugsOf('src/store/redis/shared-values.ts', ['test/unit/store/redis'], {
    'a value in Redis is fetched whatever its length': ['KEYS[1], 0, ARGV[4])', 'KEYS[1], 0, -1)'],
  }),
  ...bugsOf('src/store/redis/identity-registration.ts', ['test/unit/network'], {
    'an invalid registration in Redis counts as another user of the identity': [
      "?.groups?.['description'];",
      "?.groups?.['description'] ?? 'unknown';",
    ],
  }),
  ...bugsOf('src/proxy/client/response-cache.ts', PROXY, {
    'an upstream error page is cached': ['if (response.status !== 200) return', 'if (response.status > 999) return'],
  }),
  ...bugsOf('src/proxy/client/read-answer.ts', PROXY, {
    'a long answer of an upstream is kept whole': ['if (bytes.length <= MAX_WHOLE_BYTES) continue;', 'continue;'],
  }),
  ...bugsOf('src/proxy/client/circuit-breaker.ts', ['test/unit/proxy', 'test/integration/proxy/circuit.test.ts'], {
    'the circuit of an upstream never opens': ['failures += 1;', ''],
  }),
  ...bugsOf('package.json', ['test/integration/service/signals.test.ts'], {
    'npm start does not become the service': [
      '"exec node --use-system-ca --max-semi-space-size=4 --disable-warning=ExperimentalWarning src/start.js"',
      '"node --use-system-ca --max-semi-space-size=4 --disable-warning=ExperimentalWarning src/start.js; true"',
    ],
  }),
  ...bugsOf('src/cli/commands/serve.ts', ['test/integration/service/signals.test.ts'], {
    'a second SIGTERM ends the service at once': [
      'if (controller.signal.aborted) return;',
      'if (controller.signal.aborted) process.exit(1);',
    ],
  }),
  ...bugsOf('src/cli/io/interrupt.ts', ['test/unit/cli/io'], {
    'the second SIGINT of one Ctrl-C ends the service at once': ["? 'ignore' : 'exit'", "? 'exit' : 'exit'"],
  }),
  ...bugsOf('src/app/core.ts', ['test/unit/cli/commands'], {
    'a start that fails logs a stop': [
      "logger.info({ nodeId: identity.nodeID }, 'staking identity');",
      "opened.defer(() => logger.info('stopping'));",
    ],
  }),
  ...bugsOf('src/signature-aggregator', ['test/integration/service/go-binary.test.ts'], {
    'the script in place of the Go binary stays the parent of the service': ['exec "$node"', '"$node"'],
  }),
  ...bugsOf('src/config/go-aggregator/go-file.ts', GO_FILE, {
    'a null in a Go file is a value': [
      "given[key] ?? (kind === 'endpoint' ? {} : undefined)",
      "(kind === 'endpoint' && given[key] === undefined ? {} : given[key])",
    ],
    'log levels of a Go file are compared with their case': ['LOG_LEVELS[level.toLowerCase()],', 'LOG_LEVELS[level],'],
    'an unknown key of a Go file is ignored': ['if (unknown.length > 0) {', 'if (unknown.length > 99) {'],
    'keys of a Go file are not read from the environment': ['= variable ?? given[key]', '= given[key]'],
  }),
  ...bugsOf('src/p2p/identity/identity.ts', ['test/unit/p2p/identity', 'test/integration/service/go-binary.test.ts'], {
    'missing TLS files are not created': ['await publish(certificatePath, newPem, folderMode)', 'newPem'],
  }),
  ...bugsOf('src/config/schema/mask.ts', ['test/unit/config'], {
    'a key in the path of a base URL is printed': ["if (user === '' && rest === '') return text;", 'return text;'],
    'passwords in URLs are printed': ['text.replace(/\\/\\/.*@/s, `//${MASK}@`)', 'text'],
  }),
  ...bugsOf('src/http/server/request-bodies.ts', BODIES, {
    'a body may have any number of small chunks': ['if (smallChunks < MAX_SMALL_CHUNKS) return', 'return'],
    'chunks are counted after all that was read is parsed': ['    request.read(0);\n', ''],
  }),
  ...bugsOf('src/http/server/error-handler.ts', BODIES, {
    'an answer before the end of a body closes its connection at once': [
      "if (code === 'unsupported_transfer_coding' || request.raw.complete !== false) return",
      'return',
    ],
  }),
  ...bugsOf('src/lib/encoding/growing-buffer.ts', ['test/unit/lib/encoding'], {
    'a body keeps each of its pieces': ['.max(needed, Math.min(2 * this.capacity, maxBytes))', '.max(needed, 0)'],
  }),
  ...bugsOf('src/http/server/client-connection.ts', ['test/unit/http/server'], {
    'a connection that pipelines is read without a bound': [
      'return this.#isLast || this.#waiting.length > 0;',
      'return this.#isLast;',
    ],
    'pipelined requests wait without a bound': ['this.#waiting.length < MAX_UNANSWERED - 1', '!this.#isLast'],
    'requests beyond the limit of a connection are parsed': [
      'this.#stopParser();\n    this.#pauseIfNeeded();',
      'this.#pauseIfNeeded();',
    ],
    'what was read of a connection that is broken off is parsed': [
      'this.#stopParser();\n    this.socket.destroy();',
      'this.socket.destroy();',
    ],
  }),
  ...bugsOf('src/http/server/draining-server.ts', ['test/unit/http/server'], {
    'an answer to a request that arrives while the service stops does not close its connection': [
      'if (this.#isClosing || options.isStopping?.() === true) announceClose(response);',
      '',
    ],
  }),
  ...bugsOf('src/http/server/client-connections.ts', ['test/unit/http/server'], {
    'closed connections count for their address': ['addTo(this.#counts, address, -1);', ''],
  }),
  ...bugsOf('src/http/server/draining-server.ts', ['test/faults/hostile-connections.test.ts'], {
    'a client that reads no answers blocks others of its address': [
      'this.#connections.get(request.socket)?.take(request, response);',
      'const connection = this.#connections.get(request.socket);\n      const isBlocked = [...this.#connections].some(\n        ({ socket, address }) => socket !== request.socket && address === connection?.address && socket.writableLength > 0,\n      );\n      if (!isBlocked) connection?.take(request, response);',
    ],
  }),
  ...bugsOf('src/http/access/access.ts', ACCESS, {
    "a request that costs more than a minute's units is rate limited": ['!== undefined && total > limit', '=== -1'],
    'the rate limit precedes the API key': ['return refusal ?? limited;', 'return limited ?? refusal;'],
  }),
  ...bugsOf('src/http/access/rate-limiter.ts', ACCESS, {
    'a client pays for what the limit of its /48 refuses': ['key, -costNs, Number.', 'key, 0, Number.'],
    'a /48 has no limit': ['if (network === undefined) return', "if (network !== '') return"],
  }),
  ...bugsOf('src/http/server/schedule-requests.ts', ['test/unit/http/server'], {
    'requests are scheduled by connection': [
      '(context.client, done)',
      "(context.request.socket.remoteAddress ?? '', done)",
    ],
  }),
  ...bugsOf('src/http/server/error-handler.ts', BODIES, {
    'a body on an unknown path is a wrong media type': ['if (request.is404) return noSuchRoute(request);', ''],
  }),
  ...bugsOf('src/http/errors/error-form.ts', PROXY, {
    "the metrics service's errors have a text for a message": ['? [message].flat() : message', '? message : message'],
  }),
  ...bugsOf('src/http/request/json-type.ts', PROXY, {
    'JSON has a charset': ["type === 'string' && type !== JSON_TYPE", "type === 'number' && type !== JSON_TYPE"],
  }),
  ...bugsOf('src/api/go-aggregator/go-routes.ts', GO_API, {
    'the Go API takes no method but POST': ["method !== 'POST' && method !== 'CONNECT'", "method === 'GET'"],
    'the Go API heeds the media type': ["    headers['content-type'] = JSON_TYPE;\n", ''],
  }),
  ...bugsOf('src/api/go-aggregator/go-json.ts', GO_API, {
    'integers of the Go API lose digits': ['const value = BigInt(digits);', 'const value = BigInt(Number(digits));'],
  }),
  ...bugsOf('src/api/go-aggregator/parse-go-request.ts', GO_API, {
    'names of the Go API are case-sensitive': ['folded.test(name)', 'spelling === name'],
    'camelCase is ignored by the Go API': ["'signing-subnet-id', 'signingSubnetId'", "'signing-subnet-id'"],
    'the Go API takes the first of two spellings that differ': ['if (other !== undefined) {', "if (other === '') {"],
    'the Go API has the highest height for the proposed one': ['=== 0n || body.height === PROPOSED_HEIGHT', '=== 0n'],
  }),
  ...bugsOf('src/api/go-aggregator/go-error-form.ts', GO_API, {
    'failures of the Go API have no prefix': ['(isOfAggregation(code) ? sentenceOf(code) : undefined)', 'undefined'],
  }),
  ...bugsOf('src/api/aggregation/parse-aggregation-request.ts', ['test/unit/api/aggregation'], {
    'an empty subnet ID of the Go SDK is an error': ['signingSubnetId || undefined', 'signingSubnetId'],
    "the Go SDK's spelling of the height is ignored": ['return pchainHeight || pChainHeight;', 'return pChainHeight;'],
  }),
  ...bugsOf('src/proxy/client/upstreams.ts', PROXY, {
    'the cache of an upstream outlives its address': [
      '`${upstream.cacheName} ${request.target}`',
      '`${upstream.name} ${request.target}`',
    ],
    "a changed upstream keeps the old one's headers": [
      '    this.#openAt(before.name, endpoint);',
      '    this.#openAt(before.name, { ...before.endpoint, ...endpoint });',
    ],
    'new headers alone do not change an upstream': [
      'isDeepStrictEqual(endpoint, before.endpoint)',
      'endpoint.baseUrl === before.endpoint.baseUrl',
    ],
  }),
  ...bugsOf('src/proxy/client/upstream-client.ts', PROXY, {
    'an upstream answer may exceed its bound': ['    maxResponseSize: maxResponseBytes,\n', ''],
    'a retry goes on after its client left': [
      "asked.signal.throwIfAborted();\n        const mayRepeat = asked.method === 'GET' && !isRepeated && !signal.aborted;",
      "const mayRepeat = asked.method === 'GET' && !isRepeated;",
    ],
    'a streamed answer gives its connection back at once': [
      "if (answer.kind === 'success' && isStream(answer.body)) {",
      'if (false) {',
    ],
  }),
  ...bugsOf('src/proxy/client/upstream-answer.ts', PROXY, {
    'limits of a refusal by an upstream are not passed on': ['status === 429 ? Object', 'status === 430 ? Object'],
  }),
  ...bugsOf('src/proxy/routes/upstream.ts', ['test/integration/proxy/reindex.test.ts'], {
    "the status of a reindexing is the upstream's": [
      'reply.status(201).send()',
      "reply.status(answer.kind === 'success' ? answer.status : 201).send()",
    ],
  }),
  ...bugsOf('src/proxy/routes/rpc-schema.ts', ['test/integration/proxy/rpc-methods.test.ts'], {
    'a method of the node RPC is described without its result': [
      "'x-methods': Object.fromEntries(described),",
      "'x-methods': Object.fromEntries(described.map(([name, each]) => [name, { ...each, result: Type.Object({}) }])),",
    ],
  }),
  ...bugsOf('src/feed/chains/next-blocks.ts', FEED, {
    'a block without messages is skipped together with the next one': [
      'const first = position.blockNumber + 1;\n    let parent',
      'const first = position.blockNumber + (position.blockNumber % 7 === 3 ? 2 : 1);\n    let parent',
    ],
    'a block with another parent is read': ['read.last.parentHash !== parent.blockHash', 'false'],
    'long gaps are read block by block': ['> NEWEST_BLOCKS && ', '> 1_000 * NEWEST_BLOCKS && '],
  }),
  ...bugsOf('src/feed/chains/endpoint-choice.ts', ['test/integration/devnet/evm-faults.test.ts'], {
    'an endpoint that works again is not read again': ['if (moving >= 0) index = moving;', ''],
    'an endpoint that has failed is read on': ['index = (index + 1) % endpoints.length;', ''],
  }),
  ...bugsOf('src/feed/chains/second-reading.ts', ['test/integration/devnet/evm-faults.test.ts'], {
    'the second reading reads ranges of logs again by ranges alone': [
      "const needsBoth = !isOther && method?.by !== 'receipts' && unconfirmedBlocks <= MAX_BOTH_BLOCKS;",
      'const needsBoth = false;',
    ],
    'the second reading uses the endpoint of the first': [
      '((method?.endpoint ?? 0) + 1 + failures)',
      '(method?.endpoint ?? 0)',
    ],
  }),
  ...bugsOf('src/feed/blocks/chain-checks.ts', FEED, {
    "another chain's RPC is read": ['found !== chainID', 'false'],
    'a chain that contradicts its checkpoint is read': ['block.hash !== position.blockHash', 'false'],
  }),
  ...bugsOf('src/feed/blocks/block-reading.ts', FEED, {
    'a block that is not executed counts as empty': [
      'if (messages === undefined) throw new NotYet(`its node does not have the receipts of block ${number} yet`);\n  return { firstBlock: number, last: block, messages: messages.map',
      'return { firstBlock: number, last: block, messages: (messages ?? []).map',
    ],
  }),
  ...bugsOf('src/feed/chains/reading-start.ts', FEED, {
    'the first block is not read': ['Math.max(0, first - 1)', 'Math.max(0, first)'],
  }),
  ...bugsOf('src/feed/blocks/range-step.ts', ['test/integration/devnet/evm-faults.test.ts'], {
    'a range that failed is asked for again': ['size = Math.floor(size / 2);', ''],
    'a size that failed is tried after each success': [
      'successesNeeded = Math.min(MAX_SUCCESSES, 2 * successesNeeded);',
      '',
    ],
  }),
  ...bugsOf('src/pchain/codec/evm-block.ts', ['test/integration/devnet/evm-faults.test.ts'], {
    'receipts without their logs count as complete': [
      'if (mayMissWarpLogs(receipt.logsBloom, receipt.logs))',
      'if (false)',
    ],
  }),
  ...bugsOf('src/feed/message-selector.ts', FEED, {
    'a cursor returns its message again': ['(block_number, log_index) > (?, ?)', '(block_number, log_index) >= (?, ?)'],
    'a cursor skips the rest of its block': [
      '(block_number, log_index) > (?, ?)',
      'block_number > ? AND ? IS NOT NULL',
    ],
  }),
  ...bugsOf('src/feed/message-store.ts', FEED, {
    'the checkpoint is stored before the messages': [
      '        for (const message of messages) insertNew(message);\n        const { blockHash, blockTimeMs } = checkpoint;\n',
      '        const { blockHash, blockTimeMs } = checkpoint;\n        statements.setCheckpoint.run(checkpoint.blockNumber, blockHash, blockTimeMs, checkpoint.blockNumber, chainID);\n' +
        "        database.exec('COMMIT; BEGIN');\n        for (const message of messages) insertNew(message);\n",
    ],
    'blocks may be skipped': ['firstBlock === blockNumber + 1 &&', 'firstBlock > blockNumber &&'],
    'a signed message becomes failed': [" || row['status'] === 'signed'", ''],
    'the oldest position stays when messages are removed': [
      'statements.setStoredAfter.run(position.blockNumber, position.logIndex, chainID);\n  }',
      '}',
    ],
    'a reader does not learn that changes were removed': [
      "if (change > Number(chain['removed_change'])) statements.setRemovedChange.run(change, chainID);",
      '',
    ],
    'equal reads share what was read before a write': ['recentChanges.clear();', ''],
    'a status changes without a number': ['if (isChange) lastChange += 1;', ''],
    'a copy of the file goes on with the numbers of the other': [
      'change <= (openings[index + 1]?.afterChange ?? lastChange)',
      'change <= lastChange',
    ],
    'changes are not reported': ['for (const listener of listeners) listener();', ''],
  }),
  ...bugsOf('src/feed/message-schema.ts', FEED, {
    'a failed message counts as settled at once': ["before('first_failed')", 'Infinity'],
    'a file of the version before is not read': ['migrations: {', 'migrations: {}, earlier: {'],
  }),
  ...bugsOf('src/feed/chains/chain-watcher.ts', FEED, {
    'a reported head does not wake the reader': ['isReported = true;\n      wakeUp.wake();', 'isReported = true;'],
    'a silent web socket is kept': ['socket?.noteMissedHead();', ''],
    'polls are rare while there is a web socket': [
      'own.read(POLL_MS, signal)',
      'own.read(socket ? 5_000 : POLL_MS, signal)',
    ],
  }),
  ...bugsOf('src/feed/feed.ts', FEED, {
    'readers are served before the chains of the configuration are known': ['!knowsChains()', 'false'],
    'one chain that cannot be read keeps readers from all': ['clock.monotonicMs() - startedMs < MAX_START_MS && ', ''],
    'two readers read one chain': ['if (owner !== key) return', 'if (owner === id) return'],
    'a removed chain is read on': ['const ended = watcher.stop()', 'const ended = Promise.resolve()'],
  }),
  ...bugsOf('src/network/height-watch.ts', ['test/unit/network/height-watch.test.ts'], {
    'callers wait for an API that is down': ['    requireUp();\n', ''],
    'an API that refuses the height counts as away': ["error.code !== 'unavailable'", 'false'],
  }),
  ...bugsOf('src/network/network-feed.ts', ['test/unit/network/network-feed.test.ts'], {
    'the subnet of a removed chain stays tracked': ['if (!chains.has(chain)) watched.delete(chain);', 'void chain;'],
  }),
  ...bugsOf('src/feed/chains/chain-identity.ts', ['test/unit/network/network-feed.test.ts'], {
    'a chain that was removed meanwhile is tracked': ['signal.throwIfAborted();', ''],
  }),
  ...bugsOf('src/feed/message-signer.ts', FEED, {
    'what the feed signs counts as requests': [', isBackground: true', ''],
    'retries and first attempts share their limit': [
      'const running = inFlight[status];\n      const max = MAX_IN_FLIGHT[status];',
      'const running = inFlight.failed;\n      const max = 8;',
    ],
    'a failed message is tried again at the same pace': [
      'backoffMs(attempts, isUnconnected',
      'backoffMs(1, isUnconnected',
    ],
    'a full service fails its messages': ['PASSING.has(code)', 'false'],
  }),
  ...bugsOf('src/pchain/codec/evm-block.ts', ['test/unit/pchain/codec/evm-block.test.ts'], {
    'a block without receipts counts as empty': ['if (missing.size > 0) return undefined;', ''],
    'receipts of another block are read': ["readHash(receipt.blockHash, 'blockHash') !== block.hash ||", ''],
    'a log outside of the range is read': ['!isInRange ||', ''],
  }),
  ...bugsOf('src/pchain/state/validator-funds.ts', ['test/unit/pchain/state'], {
    'the time that a balance lasts is taken for milliseconds': [
      'secondsUntilLow(balance, price) * 1_000',
      'secondsUntilLow(balance, price)',
    ],
  }),
  ...bugsOf('src/aggregation/collection/collection.ts', COLLECTION, {
    'a message that too few validators sign costs its client points': [
      'this.#work.tally.signedWeight === 0n && !this.#isShed',
      'this.#work.tally.signedWeight < this.#work.tally.neededWeight && !this.#isShed',
    ],
    'validators without a connection are waited for the shorter time': [
      'Math.max(trackedSinceMs + limits',
      'Math.min(trackedSinceMs + limits',
    ],
    'a caller whose time is over waits for a permit without a bound': ['else this.#timeUp.abort();', ''],
    'a caller whose time is over fails though the quorum was just reached': [
      'if (tally.signedWeight < tally.neededWeight) this.#settleFinishing();\n        signal',
      'this.#settleFinishing();\n        signal',
    ],
  }),
  ...bugsOf('src/aggregation/collection/validator-answers.ts', COLLECTION, {
    'refusals of a message that only a minority signed are recorded': [
      'return isMajority && isLagging(validator)',
      'return isLagging(validator)',
    ],
    'a request that the end of its collection cut short is recorded as timed out': [
      "state.kind === 'asking' && nowMs - sentAtMs >= lateAfterMs",
      "state.kind === 'asking'",
    ],
  }),
  ...bugsOf('src/record/signing-record.ts', ['test/unit/record'], {
    'former validators are recorded': ['if (!present.has(publicKeyHex)) continue;', ''],
  }),
  ...bugsOf('src/aggregation/stages/await-execution.ts', ['test/unit/aggregation/stages/await-execution.test.ts'], {
    'a job is collected again without awaiting the execution': ['await job.collection.awaitExecution(job.permit);', ''],
  }),
  ...bugsOf('src/lib/concurrency/wake-up.ts', ['test/unit/lib/concurrency/wake-up.test.ts'], {
    'changes of one turn of the event loop are several': ['      await nextTurn(clock);\n', ''],
  }),
  ...bugsOf('src/proxy/routes/upstream-reply.ts', ['test/unit/proxy/routes'], {
    'the answer to HEAD keeps the body of the upstream open': ['  body.destroy();\n', ''],
  }),
  ...bugsOf('src/store/redis/shared-records.ts', ['test/unit/store/redis'], {
    'a page of records has one more than is allowed': ['start + PAGE - 1', 'start + PAGE'],
  }),
  ...bugsOf('src/aggregation/signers/signers-at-height.ts', ['test/unit/aggregation/aggregate-heights.test.ts'], {
    'a validator is avoided for the balance of one of its nodes': [
      'validator.nodeIDs.every((nodeID) => nodeIDs.has',
      'validator.nodeIDs.some((nodeID) => nodeIDs.has',
    ],
  }),
  ...bugsOf('src/aggregation/admission/running-jobs.ts', ['test/unit/aggregation/request'], {
    'the end of a collection that all have left hides the next one': [
      'if (this.#running.get(key) === job) this.#running.delete(key);',
      'this.#running.delete(key);',
    ],
  }),
  ...bugsOf('src/aggregation/admission/admission.ts', ['test/unit/aggregation/admission'], {
    'lookups of unknown subnets have a share beside that of untracked subnets': [
      '!(subnetID !== undefined && tracked.has(subnetID))',
      '!(subnetID === undefined || tracked.has(subnetID))',
    ],
  }),
  ...bugsOf(
    'src/aggregation/collection/validator-queries.ts',
    ['test/unit/aggregation/remembered-validators.test.ts'],
    {
      'a trial of a large message continues after the collection': [
        'isTrial && query.appBytes.length <= LARGE_QUERY_BYTES',
        'isTrial',
      ],
    },
  ),
  ...bugsOf('src/aggregation/collection/stored-signatures.ts', COLLECTION, {
    'a stored signature that is no point is kept': ['await store.delete(signatureKey, publicKeyHex);', ''],
  }),
  ...bugsOf('src/http/server/event-stream.ts', ['test/unit/http/server/event-stream.test.ts'], {
    'heartbeats are written to a client that does not read': [
      'if (this.#isFull) this.#awaitHeartbeat();\n      else this.#send([HEARTBEAT]);',
      'this.#send([HEARTBEAT]);',
    ],
  }),
  ...bugsOf('src/api/go-aggregator/go-metrics.ts', ['test/unit/api/go-aggregator'], {
    'the latency of the Go aggregator is in seconds': ['    factor: 1_000,\n', ''],
  }),
  ...bugsOf('src/bls/service/aggregation.ts', ['test/unit/bls/service'], {
    'an aggregate of as many other signers is verified': [
      ' && last.signers.every((index, i) => index === signed.signers[i]);',
      ';',
    ],
  }),
  ...bugsOf('src/aggregation/collection/collection-plan.ts', COLLECTION, {
    'an avoided validator hides what the others may sign': [
      'weightOf(seen, LAST_RESORT) - weightOf(seen, AVOIDED);',
      'weightOf(seen, LAST_RESORT);',
    ],
  }),
  ...bugsOf('src/lib/net/exchange.ts', ['test/unit/lib/net'], {
    'the body of an error is read to its end': ['    if (part.length < chunk.length) break;\n', ''],
  }),
  ...bugsOf('src/pchain/state/block-range.ts', ['test/unit/pchain/state'], {
    'faulty responses with earlier blocks between them count together': [
      'mismatches = 0;\n    const isFloor',
      'const isFloor',
    ],
  }),
  ...bugsOf('src/aggregation/collection/tally.ts', COLLECTION, {
    'the weights of a result leave out validators without a key': [
      '{ ...NO_WEIGHTS, no_key: warpSet.keyless.weight }',
      '{ ...NO_WEIGHTS }',
    ],
  }),
  ...bugsOf('src/p2p/connection/handshake.ts', P2P, {
    'a peer that names 16 subnets is refused': ['> MAX_TRACKED_SUBNETS', '>= MAX_TRACKED_SUBNETS'],
  }),
  ...bugsOf('src/config/load/problems.ts', ['test/unit/config/load'], {
    'a problem that follows from another one replaces it': ['if (!this.#lines.has(key)) this', 'this'],
  }),
  ...bugsOf('src/lib/concurrency/fair-semaphore.ts', CONCURRENCY, {
    'a waiter that gave up counts for its group': [
      '      this.#countQueued(claim, -1);\n      reject(reason);',
      '      reject(reason);',
    ],
  }),
  ...bugsOf('src/lib/concurrency/event-loop-scheduler.ts', CONCURRENCY, {
    'a new task overtakes waiting ones': [' || this.#queue.size > 0) return false', ') return false'],
  }),
  ...bugsOf('src/pchain/rpc/endpoint-state.ts', ['test/unit/pchain/rpc'], {
    'an API may ask for a pause of years': ['Math.min(retryAfterMs, MAX_WAIT_MS)', 'retryAfterMs'],
  }),
  ...bugsOf('src/proxy/client/response-cache.ts', ['test/unit/proxy/client/response-cache.test.ts'], {
    'an answer that is too long to keep holds its connection': ['      body.destroy();\n', ''],
  }),
  ...bugsOf('src/http/server/client-connection.ts', ['test/unit/http/server'], {
    'a connection counts as idle since it was opened': [
      'this.idleSinceMs = clock.monotonicMs();\n    onChange',
      'onChange',
    ],
  }),
  ...bugsOf('src/http/parameters/page-token.ts', ['test/unit/api/subnets'], {
    'a page may begin before its list': [' || (offset as number) < 0) return', ') return'],
  }),
  ...bugsOf('src/http/parameters/check-parameters.ts', ['test/unit/http/parameters'], {
    'a list of as many values as are allowed is refused': ['texts.length > maxItems', 'texts.length >= maxItems'],
  }),
  ...bugsOf('src/http/observability/request-log.ts', ['test/unit/http/observability'], {
    'without access lines refused requests leave no line': ["isOnlyLine ? 'warn' : 'debug'", "'debug'"],
  }),
  ...bugsOf('src/api/requests/request-history.ts', ['test/unit/api/requests'], {
    'records of other replicas are read up to the first old one': [
      'records.every(({ endedAt })',
      'records.some(({ endedAt })',
    ],
  }),
  ...bugsOf('src/api/health/health.ts', ['test/unit/api/health'], {
    'a network that is not ready names no time to try again': [
      "      if (!isReady) reply.header('retry-after', RETRY_AFTER_SECONDS);\n      return reply.status(isReady ? 200 : 503).send({",
      '      return reply.status(isReady ? 200 : 503).send({',
    ],
  }),
  ...bugsOf('src/api/feed/feed-reader.ts', ['test/unit/api/feed'], {
    'a message that stays pending is never sent': ['yield* this.#readDelayed(nowMs);', ''],
    'a reader of another store begins where its messages may change': [
      'settled: follows ? later(settled, earlier(to, settledInStore)) : settled,',
      'settled: later(settled, to),',
    ],
    'the chains that a store does not have are forgotten': [
      'this.#chains = new Map(cursor.chains);',
      'this.#chains = new Map([...cursor.chains].filter(([key]) => this.chains.some(({ chainID }) => chainKeyOf(chainID) === key)));',
    ],
    'a position skips the next block': ['read: later(read, to),', 'read: later(read, endOfBlock(to.blockNumber + 1)),'],
    'a reader that is behind removed changes goes on': ['this.#change < removedChange', 'false'],
  }),
  ...bugsOf('src/api/feed/cursor.ts', ['test/unit/api/feed'], {
    'a cursor may have positions beyond those of blocks': ['|| logIndex > LAST_LOG_INDEX', ''],
  }),
  ...bugsOf('src/http/server/draining-server.ts', ['test/unit/http/server/draining-server.test.ts'], {
    'connections are kept while the service drains': [' || options.isStopping?.() === true', ''],
    'a kept connection loses the request that is on its way when the server closes': [
      'if (this.#options.isStopping?.() !== true) this.#closeIdle();',
      'this.#closeIdle();',
    ],
  }),
  ...bugsOf('src/api/feed/stream-limit.ts', ['test/unit/api/feed/stream-limit.test.ts'], {
    'there is no limit of all streams': ['if (all < total) return;', 'return;'],
    'a client that has most takes the stream of another': ['most[1].size <= own + 1', 'most[1].size < own'],
  }),
  ...bugsOf('src/api/feed/feed-records.ts', ['test/unit/api/feed/feed-stream.test.ts'], {
    'an event has lines that are too long': ['hex.length <= 2 * MAX_EVENT_BYTES', 'hex.length > 0'],
  }),
  ...bugsOf('src/api/feed/read-page.ts', ['test/unit/api/feed'], {
    'a page has no bound of bytes': [' || bytes >= MAX_BYTES', ''],
  }),
  ...bugsOf('src/api/feed/feed-stream.ts', ['test/unit/api/feed'], {
    'a stream that ended listens to the store': [
      "signal.addEventListener(\n      'abort',\n      store.onChange(() => this.#stream.wake()),\n    );",
      'store.onChange(() => this.#stream.wake());',
    ],
  }),
  ...bugsOf('src/feed/chains/head-socket.ts', FEED, {
    'pauses between web sockets grow although each has worked': ['failures = 0;\n    failingSinceMs', 'failingSinceMs'],
    'a half-open web socket is kept': ['if (!isAlive) {', 'if (false) {'],
    'a silent web socket counts as one that works': [' && missingSinceMs === undefined', ''],
    'a web socket that confirms and closes counts as one that works': [
      "if (message === 'confirmed') isSubscribed = true;",
      "if (message === 'confirmed') {\n      isSubscribed = true;\n      noteWorking();\n    }",
    ],
  }),
  ...bugsOf('src/feed/message-signer.ts', FEED, {
    'the time until a message is signed is in milliseconds': [
      'signedMs - executedMs) / 1_000',
      'signedMs - executedMs)',
    ],
  }),
  ...bugsOf('src/aggregation/subnets/uptime-proofs.ts', ['test/unit/aggregation/subnets'], {
    'an uptime is searched for again without any change': [
      'hasLeft ||= states[index]?.isOut === false;',
      'hasLeft = true;',
    ],
  }),
  ...bugsOf('src/aggregation/transactions/messages-of-transactions.ts', ['test/unit/aggregation/transactions'], {
    'the last weight of an L1 validator counts as set anew': ['minNonce > nonce + 1n', 'minNonce > nonce'],
  }),
  ...bugsOf('src/aggregation/stages/share.ts', ['test/unit/aggregation/stages'], {
    'a request has stages of before it joined, of negative times': [
      'if (untilMs >= joinedMs) reportPhase(',
      'reportPhase(',
    ],
  }),
  ...bugsOf('src/warp/reading.ts', WARP, {
    'a justification as long as is allowed is refused': ['> MAX_WARP_PAYLOAD_LENGTH', '>= MAX_WARP_PAYLOAD_LENGTH'],
  }),
  ...bugsOf('src/client/http-call.ts', ['test/unit/client'], {
    'a call leaves a listener on its signal': [
      "      clearTimeout(timer);\n      ended?.removeEventListener('abort', onEnded);",
      '      clearTimeout(timer);',
    ],
    'a stream of the client ends each 60 s': ['        deadline.renew(timeoutMs);\n', ''],
    'a service that is unreachable is preferred by later calls': [
      '    if (this.#preferred === index) this',
      '    if (false) this',
    ],
    'a result whose stream was held back is asked for as a stream again': [
      'isPlain = !hasEvent && attempt.signal.aborted;',
      'isPlain = false;',
    ],
  }),
  ...bugsOf('src/client/received-messages.ts', ['test/unit/client'], {
    'pauses between streams grow although each had events': ['failures = silentStreams = 0;', 'silentStreams = 0;'],
    'a stream that is held back is opened again for ever': [
      '++silentStreams === MAX_SILENT_STREAMS',
      'silentStreams < 0',
    ],
    'a reader of pages goes on after a message of the page that it has not received': [
      'index === messages.length - 1 ? nextCursor : (after ?? nextCursor)',
      'nextCursor',
    ],
  }),
  ...bugsOf('src/cli/io/input.ts', ['test/unit/cli/io'], {
    'a file as long as is allowed is refused': ['bytes.length <= maxBytes', 'bytes.length < maxBytes'],
  }),
  ...bugsOf('src/bls/pairing/find-bad-signers.ts', ['test/unit/bls/pairing'], {
    'the only signature that can be invalid is left out when the time is up': [
      'if (signal.aborted && !isOnlyOneLeft)',
      'if (signal.aborted)',
    ],
  }),
  ...bugsOf('src/devnet/node/gossip-pool.ts', ['test/unit/devnet/node'], {
    'nodes of the devnet pass on addresses from before a change': ['    this.#unknownTo.clear();\n', ''],
  }),
  ...bugsOf('src/p2p/dialer.ts', P2P, {
    'a node is always dialled at the address that it has signed': [
      'this.schedule.failures(nodeID) % endpoints.length',
      '0',
    ],
  }),
  ...bugsOf('src/feed/message-store.ts', ['test/unit/feed'], {
    'a checkpoint that is stored before its messages': [
      '        for (const message of messages) insertNew(message);\n        const { blockHash, blockTimeMs } = checkpoint;\n',
      '        const { blockHash, blockTimeMs } = checkpoint;\n        statements.setCheckpoint.run(checkpoint.blockNumber, blockHash, blockTimeMs, checkpoint.blockNumber, chainID);\n' +
        "        database.exec('COMMIT; BEGIN');\n        for (const message of messages) insertNew(message);\n",
    ],
  }),
  ...simulatedBugsOf('service', 'src/validators/quorum.ts', {
    'a quorum that is off by one percent': ['QUORUM_DENOMINATOR = 100n', 'QUORUM_DENOMINATOR = 101n', /below \d+ %/],
  }),
  ...simulatedBugsOf('service', 'src/bls/service/aggregation.ts', {
    'a check that is skipped': [
      'this.#last = { ...made, signers: ascending(signers) };',
      'this.#last = { ...made, signers: ascending(signers), isValid: true };',
      /is not signed by its signers/,
    ],
  }),
  ...simulatedBugsOf('service', 'src/bls/service/bls-jobs.ts', {
    'a job that verifies nothing': [
      'return run(backend, job)',
      'return run({ ...backend, verify: () => true, verifyBatch: () => true }, job)',
      /is not signed by its signers/,
    ],
  }),
  ...simulatedBugsOf('service', 'src/aggregation/request/result-key.ts', {
    'a flight shared by different justifications': [
      'return justification.length === 0 ? message.id :',
      'return message.id;',
      /no validator signs as it was asked/,
    ],
    'a flight shared by different sets': [
      "import { warpSetHash } from '../../validators/warp-set-hash.ts'",
      "const warpSetHash = () => ''",
      /signed message that/,
    ],
    'a flight shared by different quorums': ['|${quorumNum}|${quorumBuffer}|', '|', /below \d+ %/],
  }),
  ...simulatedBugsOf('service', 'src/aggregation/signers/signing-resolver.ts', {
    'equal requests that share nothing': [
      'resultKey({ ...chosen, message, justification, quorumBuffer });',
      'resultKey({ ...chosen, message, justification, quorumBuffer }) + Math.random();',
      /collections of one message at once/,
    ],
  }),
  ...simulatedBugsOf('service', 'src/lib/concurrency/deadline.ts', {
    'a timer that is left': ['cancelTimer();', '', /timers are left/],
  }),
  ...simulatedBugsOf('service', 'src/pchain/state/validator-sets.ts', {
    'a set that is stale': [
      'return { height, set: (await proposed.get(setKey(subnetID, height), signal)).set };',
      'return { height, set: (newest.get(subnetID)?.entry ?? (await proposed.get(setKey(subnetID, height), signal))).set };',
      /signed message that/,
    ],
  }),
  ...simulatedBugsOf('service', 'src/validators/warp-set.ts', {
    'a set in another order': [
      'compareUncompressed(a.publicKey, b.publicKey)',
      'compareUncompressed(b.publicKey, a.publicKey)',
      /signed message that/,
    ],
    'validators without a key that do not count': [
      'totalWeight += weight;\n    if (publicKey === undefined)',
      'if (publicKey !== undefined) totalWeight += weight;\n    if (publicKey === undefined)',
      /were reported|below \d+ %/,
    ],
  }),
  ...simulatedBugsOf('service', 'src/aggregation/collection/collection-plan.ts', {
    'a lost quorum that is not noticed': [
      ": { kind: 'out of reach' };",
      ": { kind: 'wait', wakeAtMs: NEVER, isIdle: false };",
      /after its quorum was out of reach/,
    ],
  }),
  ...simulatedBugsOf('service', 'src/aggregation/collection/validator-state.ts', {
    'a validator that is asked again and again': [
      'return refusalDelaysMs[repeats] ?? refusalDelaysMs.at(-1) ?? 0',
      'return 0',
      /was asked \d+ times/,
    ],
  }),
  ...simulatedBugsOf('service', 'src/aggregation/aggregation-limits.ts', {
    'refusals that are repeated for half a second': [
      'repeatForMs: 5_000',
      'repeatForMs: 500',
      /though all that it needed was there/,
    ],
  }),
  ...simulatedBugsOf('service', 'src/aggregation/admission/admission.ts', {
    'a permit that is never released': [
      'isReleased = true;\n    permit.release();',
      'isReleased = true;',
      /aggregations_admitted is \d+/,
    ],
    'a permit to wait that is never released': ['waiters.held -= 1;', '', /aggregations_waiting is \d+/],
  }),
  ...simulatedBugsOf('service', 'src/aggregation/collection/progress.ts', {
    'listeners that are not removed': [
      'return () => void this.#listeners.delete(listener)',
      'return () => undefined',
      /after its request had ended/,
    ],
  }),
  ...simulatedBugsOf('service', 'src/lib/concurrency/wake-up.ts', {
    'a collection that notices answers late': [
      'isPending = true;\n    settle?.();',
      'clock.after(5_000, () => { isPending = true; settle?.(); });',
      /though all that it needed was there|a collection took \d+/,
    ],
  }),
  ...simulatedBugsOf('service', 'src/lib/concurrency/fair-semaphore.ts', {
    'a released permit that wakes no waiter': ['if (this.#queue.size > 0) this.grantWaiting();', '', RECOVERY],
  }),
  ...simulatedBugsOf('service', 'src/aggregation/results/negative-cache.ts', {
    'a failure that is cached for ever': ['nowMs >= failure.untilMs ||', '', RECOVERY],
  }),
  ...simulatedBugsOf('service', 'src/p2p/discovery/peer-decisions.ts', {
    'a node that is not dialled again for an hour': [
      'const grown = (previousMs > 0 ? previousMs : INITIAL_BACKOFF_MS) *',
      'if (previousMs > 0) return 3_600_000;\n  const grown = INITIAL_BACKOFF_MS *',
      RECOVERY,
    ],
  }),
  ...simulatedBugsOf('service', 'src/network/network-opening.ts', {
    'a network whose API is not asked again': ['baseMs: 1_000, maxMs: 30_000', 'baseMs: 1e9, maxMs: 1e9', RECOVERY],
  }),
  ...simulatedBugsOf('replicas', 'src/store/redis/shared-values.ts', {
    'a lease that does not end': [
      'value, String(ttlMs), String(maxBytes)]',
      'value, String(1_000 * ttlMs), String(maxBytes)]',
      /a lease of \d+ ms/,
    ],
    'a lease that every replica takes': ['if not is_ours', "if ARGV[1] ~= '' and not is_ours", /put an end to a lease/],
  }),
  ...simulatedBugsOf('replicas', 'src/store/redis/distributed-single-flight.ts', {
    'a lease that a cancelled waiter releases': [
      'await sleep(this.#clock, pollMs, signal)',
      "signal.addEventListener('abort', () => void this.#values.replace(key, seen.raw, { value: undefined, ttlMs: 1, maxBytes: 0 })); await sleep(this.#clock, pollMs, signal)",
      /put an end to a lease/,
    ],
    'a lease that is not renewed': [
      'RENEWAL_MS = 400',
      'RENEWAL_MS = 400_000',
      /took the lease that|collections of one message at once/,
    ],
    'a lease that is renewed for ever after a failure': ['isOver = true;\n        cancel();', '', /a lease is left/],
    'an outcome that is not shared': [
      'else void this.#values.set(key, concatBytes(Uint8Array.of(KIND.outcome), shared.bytes), shared.ttlMs)',
      'else void 0',
      /collections of one message over all replicas|a lease is left/,
    ],
    'work without single flight': [
      'const found = await this.#enter(key, dead)',
      'if (!signal.aborted) return task.work(); const found = await this.#enter(key, dead)',
      /without the lease|more often|at once/,
    ],
    'waiting replicas that do not take over from a dead holder': [
      "case 'ours':\n          this.#runs",
      "case 'ours': if (seen !== undefined && this.#clock.monotonicMs() - startMs < task.patienceMs()) { await sleep(this.#clock, pollMs); continue; } this.#runs",
      /while nobody was at it/,
    ],
  }),
  ...simulatedBugsOf('replicas', 'src/aggregation/results/signed-result.ts', {
    'a message of the store that is not verified': [
      "signature }, signal)) !== 'valid'",
      "signature }, signal)) === 'never'",
      /signed message that/,
    ],
  }),
  ...simulatedBugsOf('replicas', 'src/store/redis/shared-store.ts', {
    'an unbounded wait for the store': [
      'ANSWER_TIMEOUT_MS = 200',
      'ANSWER_TIMEOUT_MS = 600_000',
      /had no answer|took \d+ ms/,
    ],
    'a timer of each command that is left': [
      'finally {\n      cancel();',
      'finally {\n      clock.after(60_000, cancel);',
      /timers are left/,
    ],
  }),
  ...simulatedBugsOf('replicas', 'src/store/redis/shared-limit-counters.ts', {
    'limits that each replica counts alone': [
      'if (together === undefined) return alone',
      'if (together !== alone) return alone',
      /uses of a limit/,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/blocks/block-reading.ts', {
    'an empty block that is skipped': [
      '      yield read.value;',
      '      if (read.value.last.txHashes.length > 0) yield read.value;',
      /is read up to block/,
    ],
    'a range whose last block is not read': [
      'const wanted = logs.filter(isWanted);',
      'const wanted = logs.filter((logged) => logged.blockNumber < lastBlock && isWanted(logged));',
      /messages are stored, and the blocks/,
      21,
    ],
    'a block that is not executed and counts as empty': [
      'if (messages === undefined) throw new NotYet(`its node does not have the receipts of block ${number} yet`);\n  return { firstBlock: number, last: block, messages: messages.map',
      'return { firstBlock: number, last: block, messages: (messages ?? []).map',
      /messages are stored, and the blocks/,
    ],
    'blocks before empty ones that are confirmed unread': [
      'return block.txHashes.length === 0 ? highest : block;',
      'return highest;',
      /nothing was delivered/,
      22,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/api/feed/feed-reader.ts', {
    'a cursor that includes its message': [
      'this.#change = message.change;',
      'this.#change = message.change - 1;',
      /twice on one connection/,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/api/feed/feed-reader.ts', {
    'a cursor that skips a change': [
      'this.#change = message.change;',
      'this.#change = message.change + 1;',
      /(nothing|pending|failed) was delivered/,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/chains/chain-watcher.ts', {
    'a head that wakes no reader': [
      'isReported = true;\n      wakeUp.wake();',
      'isReported = true;',
      /soon: nothing was delivered/,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/lib/concurrency/wake-up.ts', {
    'a wake-up that is lost while the reader is busy': [
      'isPending = true;\n    settle?.();',
      'settle?.();',
      /soon: nothing was delivered/,
      10,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/chains/chain-watcher.ts', {
    'polls that are rare while there is a web socket': [
      'own.read(POLL_MS, signal)',
      'own.read(socket ? 5_000 : POLL_MS, signal)',
      /by polling: nothing was delivered/,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/chains/endpoint-choice.ts', {
    'an endpoint that has failed, and is read on': [
      'index = (index + 1) % endpoints.length;',
      '',
      /is read up to block/,
    ],
    'an endpoint that stays behind on a quiet chain, and is read on': [
      'else if (ahead >= 0) index = ahead;',
      '',
      /is read up to block/,
      62,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/chains/reading-retries.ts', {
    'an endpoint that is behind, and is waited for': [
      'waitingSinceMs = nowMs;\n      choice.leave();',
      'waitingSinceMs = nowMs;',
      /is read up to block/,
    ],
    'a stopped chain that is not tried again': [
      'return STOPPED_PAUSE_MS;',
      'return Number.POSITIVE_INFINITY;',
      /is read up to block/,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/blocks/range-step.ts', {
    'a range that failed, and is asked for again': [
      'size = Math.floor(size / 2);',
      '',
      /is (read|confirmed) up to block/,
      208,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/chains/second-reading.ts', {
    'ranges of logs that are confirmed by ranges of logs': [
      "const needsBoth = !isOther && method?.by !== 'receipts' && unconfirmedBlocks <= MAX_BOTH_BLOCKS;",
      'const needsBoth = false;',
      /nothing was delivered/,
    ],
    'blocks of before a restart that are confirmed by one method': [
      "method?.by !== 'receipts' &&",
      "method?.by === 'logs' &&",
      /nothing was delivered/,
      208,
    ],
    'messages that a second reading finds, and drops': [
      'store.at([{ chainID, ...logged }]).length === 0',
      'store.at([{ chainID, ...logged }]).length > 0',
      /nothing was delivered/,
      5,
    ],
    'an endpoint that has another chain, and confirms': [
      'if (block.hash !== read.blockHash) throw contradiction(read, block.hash);',
      '',
      /is confirmed, which is not on the chain/,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/chains/reading-log.ts', {
    'readings that stay after their position was given up': [
      ' && last.blockNumber <= blockNumber',
      '',
      /is confirmed up to block/,
      14,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/chains/stranded-position.ts', {
    'a false position that is never given up': [
      'if (!isStranded || position === undefined) return false;',
      'if (isStranded || position === undefined) return false;',
      /is read up to block/,
      14,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/feed.ts', {
    'a wrong clock that removes messages': [
      'Math.min(clock.now(), store.newestBlockMs() ?? Number.POSITIVE_INFINITY)',
      'clock.now()',
      /messages are stored, and the blocks|has expired/,
      13,
    ],
  }),
  ...simulatedBugsOf('feed', 'src/feed/message-signer.ts', {
    'a delay by a wrong clock that is kept': ['    hasten();\n', '', /pending was delivered|failed was delivered/, 110],
  }),
  ...simulatedBugsOf('feed', 'src/feed/message-signer.ts', {
    'a message that wakes no signer': [
      'store.onChange(wakeUp.wake)',
      'store.onChange(() => undefined)',
      /soon: nothing was delivered/,
    ],
  }),
];

/** Lists bugs of a file: for each wrong behaviour the text to find and its replacement. */
function bugsOf(
  file: string,
  tests: readonly string[],
  changes: Readonly<Record<string, readonly [find: string, replace: string]>>,
): BugOfTests[] {
  return Object.entries(changes).map(([name, [find, replace]]) => ({ name, file, find, replace, tests }));
}

function simulatedBugsOf(
  world: BugOfSimulation['world'],
  file: string,
  changes: Readonly<Record<string, readonly [find: string, replace: string, violation: RegExp, seed?: number]>>,
): BugOfSimulation[] {
  return Object.entries(changes).map(([name, [find, replace, violation, seed]]) => ({
    name,
    file,
    find,
    replace,
    world,
    violation,
    seed,
  }));
}
