import { monitorEventLoopDelay } from 'node:perf_hooks';
import * as blst from '@chainsafe/blst';
import { bls12_381 } from '@noble/curves/bls12-381.js';
import blsEth, { type PublicKeyType as BlsEthKey } from 'bls-eth-wasm';
import { Registry } from 'prom-client';
import { SIGNATURE_DST } from '../src/bls/backends/bls-backend.ts';
import type { BackendName } from '../src/bls/backends/load-backend.ts';
import type { BlsAggregation, Signer } from '../src/bls/service/aggregation.ts';
import { type BlsService, openBlsService } from '../src/bls/service/bls-service.ts';
import { systemClock } from '../src/lib/concurrency/clock.ts';
import { bytesToHex } from '../src/lib/encoding/bytes.ts';
import { createLogger } from '../src/telemetry/logger.ts';
import { createMetrics } from '../src/telemetry/metrics.ts';
import type { BenchmarkOptions, Row } from './benchmark.ts';
import { median, round as roundTo } from './statistics.ts';

const DEFAULT_SIZES = [5, 20, 100, 200, 1_000, 2_000];
const BACKENDS: readonly BackendName[] = ['noble', 'native'];
/** Fewer rounds where one takes seconds. */
const roundsOf = (n: number): number => (n >= 1_000 ? 5 : n >= 100 ? 9 : 15);
/** Noble as published takes milliseconds for each signature. */
const publishedRoundsOf = (n: number): number => (n >= 1_000 ? 1 : 3);
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

const round = (value: number): number => roundTo(value, 3);

/**
 * Compares the BLS hot path, on one worker thread, with the reference's way, in which blst decodes each signature, checks its subgroup and
 * verifies it alone. Rounds alternate, each with a new message. Keys are distinct and decoded beforehand on both sides.
 */
export async function benchBls({ sizes, report }: BenchmarkOptions): Promise<void> {
  const chosen = sizes.length > 0 ? sizes : DEFAULT_SIZES;
  await blsEth.init(blsEth.BLS12_381);
  const signers = createSigners(Math.max(...chosen, 1_000));
  await using opened = new AsyncDisposableStack();
  const logger = createLogger('silent');
  const services = new Map<BackendName, BlsService>();
  for (const backend of BACKENDS) {
    const ports = { clock: systemClock, random: Math.random, metrics: createMetrics(new Registry()), logger };
    services.set(backend, opened.use(await openBlsService({ backend, workers: 1, auditPercentage: 0, ...ports })));
  }
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) {
    // Decodes all keys and compiles the code.
    const signed = signedBy(signers);
    verifyEach(signers.slice(0, WARM_UP_SIGNATURES), signed.message, signed.signatures);
    aggregateWithBlsEth(signers.slice(0, WARM_UP_SIGNATURES), {
      ...signed,
      signatures: signed.signatures.slice(0, WARM_UP_SIGNATURES),
    });
    const few = signers.slice(0, SMALL_REQUEST);
    aggregateWithNoble(few, { ...signed, signatures: signed.signatures.slice(0, SMALL_REQUEST) });
    for (const bls of services.values()) await aggregate(bls, signed, signers);
  }

  for (const n of chosen) await benchSize(n, signers.slice(0, n), services, report);
  for (const [backend, bls] of services) {
    await benchAfterLast(backend, bls, signers, report);
    await benchInFlight(backend, bls, signers.slice(0, SMALL_REQUEST), report);
    await benchLoopDelay(backend, bls, signers.slice(0, SATURATED_SIGNATURES), report);
  }
}

type NobleKey = InstanceType<typeof bls12_381.G1.Point>;

interface BenchSigner extends Signer {
  readonly key: blst.PublicKey;
  readonly secret: blst.SecretKey;
  readonly blsEthKey: BlsEthKey;
  readonly nobleKey: NobleKey;
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
    const publishedTimes: number[] = [];
    const ours = new Map(BACKENDS.map((backend) => [backend, [] as number[]]));
    // Finding a third of many takes seconds.
    const rounds = bad >= 100 ? 1 : roundsOf(n);
    for (let round = 0; round < rounds; round += 1) {
      const signed = signedBy(signers, bad);
      reference.push(await timed(async () => verifyEach(signers, signed.message, signed.signatures)));
      if (bad === 0) {
        blsEthTimes.push(await timed(async () => aggregateWithBlsEth(signers, signed)));
        if (round < publishedRoundsOf(n))
          publishedTimes.push(await timed(async () => aggregateWithNoble(signers, signed)));
      }
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
      if (bad === 0) {
        clean.set(backend, ms);
        if (backend === 'noble') reportPublished(n, median(publishedTimes), { referenceMs, ms }, report);
      } else
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

/** Compares noble from npm with the reference, and the backend `noble`, which compiles its formulas, with noble from npm. */
function reportPublished(
  n: number,
  publishedMs: number,
  { referenceMs, ms }: { readonly referenceMs: number; readonly ms: number },
  report: (row: Row) => void,
): void {
  const name = 'noble as published, clean';
  report({ name, n, ms: round(publishedMs), ratio: round(publishedMs / referenceMs), vs: 'reference' });
  report({ name: 'noble, clean against noble as published', n, ms: round(ms), ...against(ms, publishedMs, name) });
}

/** Measures the message after one with a third of invalid signatures: the service then asks their signers last. */
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

/** Measures from the signature that completes the quorum to the verdict. */
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
      await add(aggregation, signers, signatures.slice(0, last));
      taken.push(
        await timed(async () => {
          await aggregation.add(signers[last] as Signer, signatures[last] as Uint8Array);
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

/** Measures the time of each request with several at once. */
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

/** Aggregates and verifies all signatures; finds invalid ones and verifies the rest again. */
async function aggregate(bls: BlsService, { message, signatures }: Signed, signers: readonly Signer[]): Promise<void> {
  using aggregation = bls.startAggregation(message, never);
  await add(aggregation, signers, signatures);
  for (;;) {
    if (await aggregation.verify(await aggregation.aggregate(), message)) return;
    const { bad } = await aggregation.findBadSigners(never);
    for (const index of bad) aggregation.remove(index);
  }
}

async function add(
  aggregation: BlsAggregation,
  signers: readonly Signer[],
  signatures: readonly Uint8Array[],
): Promise<void> {
  await Promise.all(signatures.map((signature, index) => aggregation.add(signers[index] as Signer, signature)));
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
    const nobleKey = bls12_381.G1.Point.fromBytes(publicKey);
    return { index, secret, key, blsEthKey, nobleKey, publicKey, publicKeyHex: bytesToHex(publicKey) };
  });
}

/** Decodes, adds up and verifies once with another library, which checks each signature's subgroup by default. */
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

/** Does the same with @noble/curves from npm, which has neither WebAssembly nor code of this project. */
function aggregateWithNoble(signers: readonly BenchSigner[], { message, signatures }: Signed): void {
  const { longSignatures, G1, G2 } = bls12_381;
  const sum = signatures
    .map((bytes) => G2.Point.fromBytes(bytes))
    .reduce((total, point) => total.add(point), G2.Point.ZERO);
  const key = signers.reduce((total, { nobleKey }) => total.add(nobleKey), G1.Point.ZERO);
  if (!longSignatures.verify(sum, longSignatures.hash(message, SIGNATURE_DST), key)) {
    throw new Error('noble does not verify');
  }
}

let messages = 0;

/** A new message; its invalid signatures are signatures of another message. */
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
