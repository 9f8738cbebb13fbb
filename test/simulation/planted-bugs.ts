import type { PlantedBug } from '../mutations/planted-bug.ts';

/** A bug that a hurried change could make, with the violation that the simulation must report. */
export interface SimulatedBug extends Omit<PlantedBug, 'tests'> {
  readonly found: RegExp;
}

const SINGLE_FLIGHT = 'src/store/redis/distributed-single-flight.ts';

/** Found by the world of one service. */
export const SERVICE_BUGS: readonly SimulatedBug[] = [
  {
    name: 'a quorum that is off by one percent',
    file: 'src/validators/quorum.ts',
    find: 'QUORUM_DENOMINATOR = 100n',
    replace: 'QUORUM_DENOMINATOR = 101n',
    found: /below \d+ %/,
  },
  {
    name: 'a check that is skipped',
    file: 'src/bls/field/arithmetic.ts',
    find: 'outputsOf: (verdicts) => verdicts',
    // Busy, so that it is not made together with the aggregate.
    replace:
      "outputsOf: (verdicts) => verdicts.map(() => true) }); Object.defineProperty(this, 'isBusy', { value: true",
    found: /is not signed by its signers/,
  },
  {
    name: 'a job that verifies nothing',
    file: 'src/bls/service/bls-jobs.ts',
    find: 'return run(backend, job)',
    replace: 'return run({ ...backend, verify: () => true, verifyBatch: () => true }, job)',
    found: /is not signed by its signers/,
  },
  {
    name: 'a flight shared by different justifications',
    file: 'src/aggregation/request/result-key.ts',
    find: 'return justification.length === 0 ? message.id :',
    replace: 'return message.id;',
    found: /no validator signs as it was asked/,
  },
  {
    name: 'a flight shared by different sets',
    file: 'src/aggregation/request/result-key.ts',
    find: "import { warpSetHash } from '../../validators/warp-set-hash.ts'",
    replace: "const warpSetHash = () => ''",
    found: /signed message that/,
  },
  {
    name: 'a flight shared by different quorums',
    file: 'src/aggregation/request/result-key.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    find: '|${quorumNum}|${quorumBuffer}|',
    replace: '|',
    found: /below \d+ %/,
  },
  {
    name: 'equal requests that share nothing',
    file: 'src/lib/concurrency/single-flight.ts',
    find: 'this.#flights.get(key) ?? this.#start(key, work)',
    replace: 'this.#start(key, work)',
    found: /collections of one message at once/,
  },
  {
    name: 'a timer that is left',
    file: 'src/lib/concurrency/deadline.ts',
    find: 'cancelTimer();',
    replace: '',
    found: /timers are left/,
  },
  {
    name: 'a set that is stale',
    file: 'src/pchain/state/validator-sets.ts',
    find: '(await proposed.get(setKey(subnetID, height), signal)).set',
    replace: '(newest.get(subnetID)?.entry ?? (await proposed.get(setKey(subnetID, height), signal))).set',
    found: /signed message that/,
  },
  {
    name: 'a set in another order',
    file: 'src/validators/warp-set.ts',
    find: 'compareUncompressed(a.publicKey, b.publicKey)',
    replace: 'compareUncompressed(b.publicKey, a.publicKey)',
    found: /signed message that/,
  },
  {
    name: 'validators without a key that do not count',
    file: 'src/validators/warp-set.ts',
    find: 'keyless.weight += weight',
    replace: 'totalWeight -= weight',
    found: /were reported|below \d+ %/,
  },
  {
    name: 'a lost quorum that is not noticed',
    file: 'src/aggregation/collection/query-plan.ts',
    find: ": { kind: 'out of reach' };",
    replace: ": { kind: 'go on', ask: [], wakeAtMs: Number.POSITIVE_INFINITY, isIdle: false };",
    found: /after its quorum was out of reach/,
  },
  {
    name: 'a validator that is asked again and again',
    file: 'src/aggregation/collection/query-plan.ts',
    find: 'limits.retryDelaysMs[attempts - 1]',
    replace: 'limits.retryDelaysMs[0]',
    found: /was asked \d+ times/,
  },
  {
    name: 'a permit that is never released',
    file: 'src/aggregation/admission/admission.ts',
    find: 'permit.release();',
    replace: '',
    found: /aggregations_admitted is \d+/,
  },
  {
    name: 'listeners that are not removed',
    file: 'src/aggregation/collection/progress.ts',
    find: 'return () => void this.#listeners.delete(listener)',
    replace: 'return () => undefined',
    found: /after its request had ended/,
  },
  {
    name: 'a collection that notices answers late',
    file: 'src/lib/concurrency/wake-up.ts',
    find: 'isPending = true;\n    settle?.();',
    replace: 'clock.after(5_000, () => { isPending = true; settle?.(); });',
    found: /though all that it needed was there|a collection took \d+/,
  },
];

/** Found by the world of replicas. */
export const REPLICA_BUGS: readonly SimulatedBug[] = [
  {
    name: 'a lease that does not end',
    file: 'src/store/redis/shared-values.ts',
    find: 'value, String(ttlMs), String(maxBytes)]',
    replace: 'value, String(1_000 * ttlMs), String(maxBytes)]',
    found: /a lease of \d+ ms/,
  },
  {
    name: 'a lease that a cancelled waiter releases',
    file: SINGLE_FLIGHT,
    find: 'await sleep(clock, pollMs, signal)',
    replace:
      "signal.addEventListener('abort', () => void this.#options.values.delete(key)); await sleep(clock, pollMs, signal)",
    found: /put an end to a lease/,
  },
  {
    name: 'a lease that every replica takes',
    file: 'src/store/redis/shared-values.ts',
    find: 'if not is_ours',
    replace: "if ARGV[1] ~= '' and not is_ours",
    found: /put an end to a lease/,
  },
  {
    name: 'a lease that is not renewed',
    file: SINGLE_FLIGHT,
    find: 'FIRST_RENEWAL_MS = 100',
    replace: 'FIRST_RENEWAL_MS = 100_000',
    found: /took the lease that|collections of one message at once/,
  },
  {
    name: 'an outcome that is not shared',
    file: SINGLE_FLIGHT,
    find: 'else if (isProven) void values.set(key, value, ttlMs)',
    replace: 'else if (isProven) return',
    found: /collections of one message over all replicas|a lease is left/,
  },
  {
    name: 'work without single flight',
    file: SINGLE_FLIGHT,
    find: 'const found = await this.#enter(key, dead)',
    replace: 'if (!signal.aborted) return task.work(0); const found = await this.#enter(key, dead)',
    found: /without the lease|more often|at once/,
  },
  {
    name: 'waiting replicas that do not take over from a dead holder',
    file: SINGLE_FLIGHT,
    find: "case 'ours':\n          this",
    replace: `case 'ours':
          if (seen !== undefined && waitedMs() < task.patienceMs) {
            this.#release(key, found.token);
            await sleep(clock, pollMs, signal);
            continue;
          }
          this`,
    found: /while nobody was at it/,
  },
  {
    name: 'a message of the store that is not verified',
    file: 'src/aggregation/request/shared-outcome.ts',
    find: "signature }, signal)) !== 'valid'",
    replace: "signature }, signal)) === 'never'",
    found: /signed message that/,
  },
  {
    name: 'a seal that is not verified',
    file: 'src/store/redis/seal.ts',
    find: 'return timingSafeEqual(sealed.subarray(0, TAG_BYTES), tagOf(key, value)) ? value : undefined',
    replace: 'return value',
    found: /though all that it needed was there|signed message that|at height/,
  },
  {
    name: 'an unbounded wait for the store',
    file: 'src/store/redis/shared-store.ts',
    find: 'ANSWER_TIMEOUT_MS = 200',
    replace: 'ANSWER_TIMEOUT_MS = 600_000',
    found: /had no answer|took \d+ ms/,
  },
  {
    name: 'a timer of each command that is left',
    file: 'src/store/redis/shared-store.ts',
    find: 'finally {\n      cancel();',
    replace: 'finally {\n      clock.after(60_000, cancel);',
    found: /timers are left/,
  },
  {
    name: 'limits that each replica counts alone',
    file: 'src/store/redis/shared-limit-counters.ts',
    find: 'if (together === undefined) return alone',
    replace: 'if (together !== alone) return alone',
    found: /uses of a limit/,
  },
];
