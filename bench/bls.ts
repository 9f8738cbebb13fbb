import { monitorEventLoopDelay } from 'node:perf_hooks';
import * as blst from '@chainsafe/blst';
import blsEth, { type PublicKeyType as BlsEthKey } from 'bls-eth-wasm';
import { Registry } from 'prom-client';
import { type BackendName, loadBackend } from '../src/bls/backends/load-backend.ts';
import { type BlsAggregation, type BlsService, createBlsService, type Signer } from '../src/bls/service/aggregation.ts';
import { openWorkerPool } from '../src/bls/service/worker-pool.ts';
import { systemClock } from '../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../src/lib/encoding/bytes.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import type { BenchmarkOptions, Row } from './benchmark.ts';

const DEFAULT_SIZES = [5, 20, 100, 200, 1_000, 2_000];
const BACKENDS: readonly BackendName[] = ['noble', 'native'];
/** Odd, so that a median is one of them; fewer where one takes seconds. */
const roundsOf = (n: number): number => (n >= 1_000 ? 5 : n >= 100 ? 9 : 15);
const WARM_UP_ROUNDS = 3;
const WARM_UP_SIGNATURES = 200;
const SMALL_REQUEST = 5;
const IN_FLIGHT = [1, 4, 16];
const IN_FLIGHT_ROUNDS = 7;
const AFTER_LAST_ROUNDS = 21;
const SATURATED_REQUESTS = 32;
const SATURATED_SIGNATURES = 200;
const ALLOWED_DELAY_MS = 20;
const never = new AbortController().signal;

/**
 * Compares the BLS hot path with the reference's way, in which blst decodes each signature, checks its subgroup and verifies
 * it on its own, in one thread. Ours uses the service's worker threads, of which there is one here, so one thread is compared
 * with one thread. Rounds alternate, each with a message of its own. Keys are distinct, and decoded beforehand on both sides.
 *
 * What was tried, on the machine of bench/README.md:
 *
 * - One product modulo p: 0.41 µs with BigInt and `%`. Montgomery's (0.42) or Barrett's (0.45) reduction on BigInt is no
 *   faster, because most of the time goes into allocations. 28-bit limbs in WebAssembly: 0.14 µs, a square 0.12, and 0.40 in the
 *   extension, where four products share two reductions. 50-bit limbs of floating-point numbers with fused multiply-add, two elements in a
 *   vector: 0.12 for two products, 0.17 in the extension. Its reduction takes four limbs of the quotient at a time; one at a time
 *   it was 0.16 for two, as each step waited for the one before.
 * - Decoding a signature: 2.4 ms by noble, 0.5 in a prototype of the complex method on BigInt, 0.13 on integers in WebAssembly, 0.05 now that two
 *   share their steps. Hashing: 8.2 ms, now 0.55. The check of the subgroup: 1.6 ms, now 0.07.
 * - Lines through the message's multiples computed when it is hashed: 0.1 ms less after the last signature.
 * - The pairing of two pairs: 14 ms by noble over BigInt, 3.2 by its formulas recorded and compiled onto integers in WebAssembly, 1.2 onto vectors
 *   (Miller loop 0.45, final exponentiation 0.57, lines of the signature 0.11). Compressed squarings in the final exponentiation, which noble
 *   has over BigInt, would save less than their inversions cost.
 * - Aggregating and verifying in one job: a way to the thread and back less, 0.1 to 0.2 ms.
 * - Of the 2.0 to 2.2 ms of five signatures with native, 1.2 are blst's check (1.05 where the thread that it starts has just worked: it hashes
 *   and pairs in that one and in ours), 0.19 the decoding, 0.15 the rest of the job, 0.1 to 0.2 the way there and back, and the rest what the
 *   event loop does for it: 0.3 when nothing is compiled yet, 0.15 after some thousands.
 * - One check by a batch of one: 0.15 ms more.
 * - Two jobs at hand for each thread instead of one: the native backend's jobs are short, and a thread waited between them.
 * - Locating a bad signature by its place in a weighted sum takes two pairings, where halving 200 takes eight. Among many bad
 *   ones it finds nothing, so it is given up after three misses.
 * - Checking the other half too as soon as one fails took 3.2 times the clean time for one bad signature in 200 (native).
 *   Leaving it for the end takes 2.6 times.
 */
export async function benchBls({ sizes, report }: BenchmarkOptions): Promise<void> {
  const chosen = sizes.length > 0 ? sizes : DEFAULT_SIZES;
  await blsEth.init(blsEth.BLS12_381);
  const signers = createSigners(Math.max(...chosen, 1_000));
  await using opened = new AsyncDisposableStack();
  const services = new Map<BackendName, BlsService>();
  for (const backend of BACKENDS) {
    const runner = opened.use(
      await openWorkerPool({ backend, workers: 1, clock: systemClock, metrics: createMetrics(new Registry()) }),
    );
    services.set(backend, createBlsService(runner, await loadBackend(backend)));
  }
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    // Decodes all keys, and lets the compiler see what is used.
    const signed = signedBy(signers);
    verifyEach(signers.slice(0, WARM_UP_SIGNATURES), signed.message, signed.signatures);
    aggregateWithBlsEth(signers.slice(0, WARM_UP_SIGNATURES), {
      ...signed,
      signatures: signed.signatures.slice(0, WARM_UP_SIGNATURES),
    });
    for (const bls of services.values()) await aggregate(bls, signed, signers);
  }

  for (const n of chosen) await benchSize(n, signers.slice(0, n), services, report);
  for (const [backend, bls] of services) {
    await benchAfterLast(backend, bls, signers, report);
    await benchInFlight(backend, bls, signers.slice(0, SMALL_REQUEST), report);
    await benchLoopDelay(backend, bls, signers.slice(0, SATURATED_SIGNATURES), report);
  }
}

interface BenchSigner extends Signer {
  readonly key: blst.PublicKey;
  readonly secret: blst.SecretKey;
  readonly blsEthKey: BlsEthKey;
}

interface Signed {
  readonly message: Uint8Array;
  readonly signatures: readonly Uint8Array[];
}

async function benchSize(
  n: number,
  signers: readonly BenchSigner[],
  services: ReadonlyMap<BackendName, BlsService>,
  report: (row: Row) => void,
): Promise<void> {
  const third = Math.floor(n / 3);
  const cases = [
    { label: 'clean', bad: 0 },
    { label: '1 bad', bad: 1 },
    ...(n >= 100 ? [{ label: '10 bad', bad: 10 }] : []),
    { label: 'a third bad', bad: third },
  ];
  const clean = new Map<BackendName, number>();
  for (const { label, bad } of cases) {
    const reference: number[] = [];
    const blsEthTimes: number[] = [];
    const ours = new Map(BACKENDS.map((backend) => [backend, [] as number[]]));
    // A third of many takes many seconds to find.
    const rounds = bad >= 100 ? 1 : roundsOf(n);
    for (let round = 0; round < rounds; round += 1) {
      const signed = signedBy(signers, bad);
      reference.push(await timed(async () => verifyEach(signers, signed.message, signed.signatures)));
      if (bad === 0) blsEthTimes.push(await timed(async () => aggregateWithBlsEth(signers, signed)));
      for (const [backend, bls] of services) {
        ours.get(backend)?.push(await timed(() => aggregate(bls, signed, signers)));
      }
    }
    const referenceMs = median(reference);
    report({ name: `reference, ${label}`, n, ms: round(referenceMs), ratio: 1, vs: 'reference' });
    if (bad === 0) {
      const ms = median(blsEthTimes);
      report({ name: 'bls-eth-wasm, clean', n, ms: round(ms), ratio: round(ms / referenceMs), vs: 'reference' });
    }
    for (const [backend, times] of ours) {
      const ms = median(times);
      report({ name: `${backend}, ${label}`, n, ms: round(ms), ratio: round(ms / referenceMs), vs: 'reference' });
      if (bad === 0) clean.set(backend, ms);
      else
        report({
          name: `${backend}, ${label} against clean`,
          n,
          ms: round(ms),
          ...against(ms, clean.get(backend), `${backend}, clean`),
        });
    }
  }
  await benchNextMessage(signers, services, clean, report);
}

/** The message after one of which a third of the signatures was bad: the service then asks those last whom it caught. */
async function benchNextMessage(
  signers: readonly BenchSigner[],
  services: ReadonlyMap<BackendName, BlsService>,
  clean: ReadonlyMap<BackendName, number>,
  report: (row: Row) => void,
): Promise<void> {
  const n = signers.length;
  const others = signers.filter((_, index) => index % 3 !== 1).map((signer, index) => ({ ...signer, index }));
  const times = new Map(BACKENDS.map((backend) => [backend, [] as number[]]));
  for (let round = 0; round < roundsOf(n); round += 1) {
    const signed = signedBy(others);
    for (const [backend, bls] of services) {
      times.get(backend)?.push(await timed(() => aggregate(bls, signed, others)));
    }
  }
  for (const [backend, taken] of times) {
    const ms = median(taken);
    const name = `${backend}, the next message of the others than a third against clean`;
    report({ name, n, ms: round(ms), ...against(ms, clean.get(backend), `${backend}, clean`) });
  }
}

/** From the signature that completes the quorum to the verdict. */
async function benchAfterLast(
  backend: BackendName,
  bls: BlsService,
  signers: readonly BenchSigner[],
  report: (row: Row) => void,
): Promise<void> {
  const times = new Map<number, number[]>([
    [SMALL_REQUEST, []],
    [1_000, []],
  ]);
  for (let round = 0; round < AFTER_LAST_ROUNDS; round += 1) {
    for (const [n, taken] of times) {
      const { message, signatures } = signedBy(signers.slice(0, n));
      using aggregation = bls.startAggregation(message, never);
      const last = n - 1;
      await add(aggregation, signers, signatures.slice(0, last), n);
      taken.push(
        await timed(async () => {
          await aggregation.add(signers[last] as Signer, signatures[last] as Uint8Array, true);
          if (!(await aggregation.verify(await aggregation.aggregate(), message))) throw new Error('does not verify');
        }),
      );
    }
  }
  const few = median(times.get(SMALL_REQUEST) ?? []);
  for (const [n, taken] of times) {
    const name = `${backend}, after the last signature`;
    report({ name, n, ms: round(median(taken)), ...against(median(taken), few, `${name}, n = ${SMALL_REQUEST}`) });
  }
}

/** Time a request, with several at once. */
async function benchInFlight(
  backend: BackendName,
  bls: BlsService,
  signers: readonly BenchSigner[],
  report: (row: Row) => void,
): Promise<void> {
  const times = new Map(IN_FLIGHT.map((inFlight) => [inFlight, [] as number[]]));
  for (let round = 0; round < IN_FLIGHT_ROUNDS; round += 1) {
    for (const [inFlight, taken] of times) {
      const all = Array.from({ length: inFlight }, () => signedBy(signers));
      taken.push((await timed(() => Promise.all(all.map((signed) => aggregate(bls, signed, signers))))) / inFlight);
    }
  }
  const alone = median(times.get(1) ?? []);
  for (const [inFlight, taken] of times) {
    const ms = median(taken);
    const name = `${backend}, a request of ${signers.length} signers, ${inFlight} in flight`;
    report({ name, n: inFlight, ms: round(ms), ...against(ms, alone, 'one alone'), per_s: Math.round(1000 / ms) });
  }
}

async function benchLoopDelay(
  backend: BackendName,
  bls: BlsService,
  signers: readonly BenchSigner[],
  report: (row: Row) => void,
): Promise<void> {
  const all = Array.from({ length: SATURATED_REQUESTS }, () => signedBy(signers));
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await Promise.all(all.map((signed) => aggregate(bls, signed, signers)));
  delay.disable();
  const ms = delay.percentile(99) / 1e6;
  report({
    name: `${backend}, event-loop delay p99 with ${SATURATED_REQUESTS} requests of ${signers.length} in flight`,
    n: SATURATED_REQUESTS,
    ms: round(ms),
    ratio: round(ms / ALLOWED_DELAY_MS),
    vs: `${ALLOWED_DELAY_MS} ms`,
  });
}

/** All signatures into one aggregate, verified; bad ones are found, and the rest verified again. */
async function aggregate(bls: BlsService, { message, signatures }: Signed, signers: readonly Signer[]): Promise<void> {
  using aggregation = bls.startAggregation(message, never);
  await add(aggregation, signers, signatures, signers.length);
  for (;;) {
    if (await aggregation.verify(await aggregation.aggregate(), message)) return;
    const { bad } = await aggregation.findBadSigners(never);
    for (const index of bad) aggregation.remove(index);
  }
}

/** @param needed as many as the quorum needs: the service knows which signature completes it */
async function add(
  aggregation: BlsAggregation,
  signers: readonly Signer[],
  signatures: readonly Uint8Array[],
  needed: number,
): Promise<void> {
  await Promise.all(
    signatures.map((signature, index) => aggregation.add(signers[index] as Signer, signature, index + 1 >= needed)),
  );
}

function verifyEach(signers: readonly BenchSigner[], message: Uint8Array, signatures: readonly Uint8Array[]): void {
  for (const [position, { key }] of signers.entries()) {
    const signature = blst.Signature.fromBytes(signatures[position] as Uint8Array, true);
    blst.verify(message, key, signature);
  }
}

function createSigners(count: number): BenchSigner[] {
  return Array.from({ length: count }, (_, index) => {
    const seed = new Uint8Array(32);
    new DataView(seed.buffer).setUint32(0, index + 1);
    const secret = blst.SecretKey.fromKeygen(seed);
    const key = secret.toPublicKey();
    const publicKey = key.toBytes();
    const blsEthKey = new blsEth.PublicKey();
    blsEthKey.deserialize(publicKey);
    return { index, secret, key, blsEthKey, publicKey, publicKeyHex: bytesToHex(publicKey) };
  });
}

/** Our way with another library: decoded, added up, and verified once. It checks each signature's subgroup, as is its default. */
function aggregateWithBlsEth(signers: readonly BenchSigner[], { message, signatures }: Signed): void {
  const decoded = signatures.map((bytes) => {
    const signature = new blsEth.Signature();
    signature.deserialize(bytes);
    return signature;
  });
  const sum = new blsEth.Signature();
  sum.aggregate(decoded);
  const keys = signers.map(({ blsEthKey }) => blsEthKey);
  if (!sum.fastAggregateVerify(keys, message)) throw new Error('bls-eth-wasm does not verify');
}

let messages = 0;

/** A new message; the bad ones are points, and signatures of another message. */
function signedBy(signers: readonly BenchSigner[], bad = 0): Signed {
  messages += 1;
  const message = new Uint8Array(150);
  new DataView(message.buffer).setUint32(0, messages);
  const other = Uint8Array.of(...message, 0);
  const isBad = new Set(Array.from({ length: bad }, (_, i) => Math.floor(((i + 0.5) * signers.length) / bad)));
  return {
    message,
    signatures: signers.map(({ secret }, index) => secret.sign(isBad.has(index) ? other : message).toBytes()),
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

function against(ms: number, base: number | undefined, vs: string): { ratio: number; vs: string } {
  return { ratio: round(ms / (base ?? Number.NaN)), vs };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
