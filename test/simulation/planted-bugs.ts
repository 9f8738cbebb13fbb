/** A bug that a hurried change could make, planted by a replacement in a module of the service. */
export interface SimulatedBug {
  readonly name: string;
  readonly file: string;
  /** Text that stands once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Matches the violation that the simulation must report. */
  readonly found: RegExp;
}

/** Violations after all faults are over. */
const RECOVERY = /after the recovery|no recovery/;

/** Found by the world of one service. */
export const SERVICE_BUGS: readonly SimulatedBug[] = [
  ...bugsOf('src/validators/quorum.ts', {
    'a quorum that is off by one percent': ['QUORUM_DENOMINATOR = 100n', 'QUORUM_DENOMINATOR = 101n', /below \d+ %/],
  }),
  ...bugsOf('src/bls/service/aggregation.ts', {
    'a check that is skipped': [
      'this.#last = { ...made, signers: ascending(signers) };',
      'this.#last = { ...made, signers: ascending(signers), isValid: true };',
      /is not signed by its signers/,
    ],
  }),
  ...bugsOf('src/bls/service/bls-jobs.ts', {
    'a job that verifies nothing': [
      'return run(backend, job)',
      'return run({ ...backend, verify: () => true, verifyBatch: () => true }, job)',
      /is not signed by its signers/,
    ],
  }),
  ...bugsOf('src/aggregation/request/result-key.ts', {
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
  ...bugsOf('src/lib/concurrency/single-flight.ts', {
    'equal requests that share nothing': [
      'this.#flights.get(key) ?? this.#start(key, work)',
      'this.#start(key, work)',
      /collections of one message at once/,
    ],
  }),
  ...bugsOf('src/lib/concurrency/deadline.ts', {
    'a timer that is left': ['cancelTimer();', '', /timers are left/],
  }),
  ...bugsOf('src/pchain/state/validator-sets.ts', {
    'a set that is stale': [
      'return { height, set: (await proposed.get(setKey(subnetID, height), signal)).set };',
      'return { height, set: (newest.get(subnetID)?.entry ?? (await proposed.get(setKey(subnetID, height), signal))).set };',
      /signed message that/,
    ],
  }),
  ...bugsOf('src/validators/warp-set.ts', {
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
  ...bugsOf('src/aggregation/collection/query-plan.ts', {
    'a lost quorum that is not noticed': [
      ": { kind: 'out of reach' };",
      ": { kind: 'go on', ask: [], wakeAtMs: Number.POSITIVE_INFINITY, isRepeat: false, idle: undefined };",
      /after its quorum was out of reach/,
    ],
    'a validator that is asked again and again': [
      'return refusalDelaysMs[repeats] ?? refusalDelaysMs.at(-1) ?? 0',
      'return 0',
      /was asked \d+ times/,
    ],
  }),
  ...bugsOf('src/aggregation/aggregation-limits.ts', {
    'refusals that are repeated for half a second': [
      'repeatForMs: 5_000',
      'repeatForMs: 500',
      /though all that it needed was there/,
    ],
  }),
  ...bugsOf('src/aggregation/admission/admission.ts', {
    'a permit that is never released': [
      'permit?.release();\n        permit = undefined;\n        if (admitted.held',
      'permit = undefined;\n        if (admitted.held',
      /aggregations_admitted is \d+/,
    ],
    'a permit to wait that is never released': ['waiters.held -= 1;', '', /aggregations_waiting is \d+/],
  }),
  ...bugsOf('src/aggregation/collection/progress.ts', {
    'listeners that are not removed': [
      'return () => void this.#listeners.delete(listener)',
      'return () => undefined',
      /after its request had ended/,
    ],
  }),
  ...bugsOf('src/lib/concurrency/wake-up.ts', {
    'a collection that notices answers late': [
      'isPending = true;\n    settle?.();',
      'clock.after(5_000, () => { isPending = true; settle?.(); });',
      /though all that it needed was there|a collection took \d+/,
    ],
  }),
  ...bugsOf('src/lib/concurrency/fair-semaphore.ts', {
    'a released permit that wakes no waiter': ['if (this.#queue.size > 0) this.grantWaiting();', '', RECOVERY],
  }),
  ...bugsOf('src/aggregation/request/negative-cache.ts', {
    'a failure that is cached for ever': ['nowMs >= failure.untilMs ||', '', RECOVERY],
  }),
  ...bugsOf('src/p2p/discovery/peer-decisions.ts', {
    'a node that is not dialled again for an hour': [
      'const grown = (previousMs > 0 ? previousMs : INITIAL_BACKOFF_MS) *',
      'if (previousMs > 0) return 3_600_000;\n  const grown = INITIAL_BACKOFF_MS *',
      RECOVERY,
    ],
  }),
  ...bugsOf('src/network/served-network.ts', {
    'a network whose API is not asked again': ['baseMs: 1_000, maxMs: 30_000', 'baseMs: 1e9, maxMs: 1e9', RECOVERY],
  }),
];

/** Found by the world of replicas. */
export const REPLICA_BUGS: readonly SimulatedBug[] = [
  ...bugsOf('src/store/redis/shared-values.ts', {
    'a lease that does not end': [
      'value, String(ttlMs), String(maxBytes)]',
      'value, String(1_000 * ttlMs), String(maxBytes)]',
      /a lease of \d+ ms/,
    ],
    'a lease that every replica takes': ['if not is_ours', "if ARGV[1] ~= '' and not is_ours", /put an end to a lease/],
  }),
  ...bugsOf('src/store/redis/distributed-single-flight.ts', {
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
  ...bugsOf('src/aggregation/request/shared-outcome.ts', {
    'a message of the store that is not verified': [
      "signature }, signal)) !== 'valid'",
      "signature }, signal)) === 'never'",
      /signed message that/,
    ],
  }),
  ...bugsOf('src/store/redis/shared-store.ts', {
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
  ...bugsOf('src/store/redis/shared-limit-counters.ts', {
    'limits that each replica counts alone': [
      'if (together === undefined) return alone',
      'if (together !== alone) return alone',
      /uses of a limit/,
    ],
  }),
];

function bugsOf(
  file: string,
  bugs: Readonly<Record<string, readonly [find: string, replace: string, found: RegExp]>>,
): SimulatedBug[] {
  return Object.entries(bugs).map(([name, [find, replace, found]]) => ({ name, file, find, replace, found }));
}
