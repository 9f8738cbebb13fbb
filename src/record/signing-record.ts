import type { CollectionObserver, ValidatorAnswer } from '../aggregation/collection/validator-answers.ts';
import { FreshCache } from '../lib/cache/fresh-cache.ts';
import { type Clock, nextTurn, repeat } from '../lib/concurrency/clock.ts';
import type { ThrottledWarnings } from '../telemetry/log-throttle.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { WarpSet, WarpValidator } from '../validators/warp-set.ts';
import type { NodeID, SubnetID } from '../warp/ids.ts';
import { dayOf, type RecordRow, type RecordStore, type Span, type ValidatorCounts } from './record-store.ts';
import {
  type CountedSpan,
  lostWeight,
  type RecordedValidator,
  recordedValidator,
  type SigningHour,
  type SubnetRecord,
  signingWeight,
  type ValidatorRecord,
  worstFirst,
} from './record-view.ts';
import { addCounts, addTime, type CountName, emptyCounts, increment, type SigningCounts } from './signing-counts.ts';

export interface SigningRecordOptions {
  readonly store: RecordStore;
  /** Whether the store outlives the process: then it has {@link KEPT_HOURS} and {@link KEPT_DAYS}, else a day of hours. */
  readonly isPersistent: boolean;
  /** The present sets of the primary network and the tracked subnets. */
  readonly sets: () => readonly (readonly [SubnetID, WarpSet])[];
  /** One of them. */
  readonly setOf: (subnetID: SubnetID) => WarpSet | undefined;
  readonly isConnected: (nodeID: NodeID) => boolean;
  readonly clock: Clock;
  readonly warn: ThrottledWarnings;
  readonly metrics: Metrics;
}

/** What validators did in collections that ended signed, by hour and day. Only validators of present sets are recorded. */
export interface SigningRecord extends CollectionObserver, AsyncDisposable {
  /** Undefined if the subnet is not recorded. @param sinceMs Unix time; by default a day ago */
  subnet(subnetID: SubnetID, sinceMs: number | undefined, signal: AbortSignal): Promise<SubnetRecord | undefined>;
  /** Undefined if the subnet is not recorded. */
  validator(subnetID: SubnetID, nodeID: NodeID): Promise<ValidatorRecord | 'no validator' | undefined>;
}

const HOUR_MS = 3_600_000;
const DAY_HOURS = 24;
/** Complete ones; the present one comes in addition. */
const KEPT_HOURS = 48;
const KEPT_DAYS = 90;
const SAMPLE_EVERY_MS = 60_000;
/** Counts of this time are lost if the process is killed. */
const SAMPLES_PER_WRITE = 5;
/** A row takes some 10 µs; after so many, the event loop runs other work. */
const ROWS_PER_WRITE = 256;
/** Reading a day of 2,000 validators takes 100 ms of CPU, in steps. */
const READ_MAX_AGE_MS = 15_000;
const MAX_READ = 32;
/** Validators with a metric, of each subnet. */
const WORST = 10;

/** Outcomes by their names in rows. */
const COUNT_NAMES: Readonly<Record<ValidatorAnswer['outcome'], CountName>> = {
  signed: 'signed',
  refused: 'refused',
  timed_out: 'timedOut',
  unreachable: 'unreachable',
  invalid_signature: 'invalid',
  not_asked: 'notAsked',
};

export function openSigningRecord(options: SigningRecordOptions): SigningRecord {
  const { store, isPersistent, sets, setOf, isConnected, clock, warn } = options;
  const keptHours = isPersistent ? KEPT_HOURS : DAY_HOURS;
  /** Counts since the last write, by hour, subnet and BLS key. */
  let unwritten = new Map<number, Map<SubnetID, Map<string, SigningCounts>>>();
  let writing: Promise<void> = Promise.resolve();
  let worst: Worst = [];
  const hourNow = (): number => Math.floor(clock.now() / HOUR_MS);

  function countsOf(subnetID: SubnetID, publicKeyHex: string): SigningCounts {
    const ofHour = getOrAdd(unwritten, hourNow(), () => new Map<SubnetID, Map<string, SigningCounts>>());
    const ofSubnet = getOrAdd(ofHour, subnetID, () => new Map<string, SigningCounts>());
    return getOrAdd(ofSubnet, publicKeyHex, emptyCounts);
  }

  function takeSamples(): void {
    for (const [subnetID, { validators }] of sets()) {
      for (const { publicKeyHex, nodeIDs } of validators) {
        const counts = countsOf(subnetID, publicKeyHex);
        increment(counts, 'samples');
        if (nodeIDs.some(isConnected)) increment(counts, 'connected');
      }
    }
  }

  /** Writes all counts so far; those that cannot be written are lost. */
  function write(): Promise<void> {
    writing = writing.then(async () => {
      const taken = takeUnwritten();
      try {
        for (const { hour, rows } of taken) {
          store.add(hour, rows);
          await nextTurn(clock);
        }
      } catch (err) {
        warn('record', { err }, 'the record of validators cannot be written: counts of some minutes are lost');
      }
    });
    return writing;
  }

  function takeUnwritten(): { readonly hour: number; readonly rows: readonly ValidatorCounts[] }[] {
    const taken = unwritten;
    unwritten = new Map();
    return [...taken].flatMap(([hour, ofHour]) => {
      const rows = [...ofHour].flatMap(([subnetID, ofSubnet]) =>
        Array.from(ofSubnet, ([publicKeyHex, counts]) => ({ subnetID, publicKeyHex, counts })),
      );
      return chunks(rows, ROWS_PER_WRITE).map((some) => ({ hour, rows: some }));
    });
  }

  const lastClosed = { day: store.lastDay() ?? dayOf(store.firstHour() ?? hourNow()) - 1, hour: -1 };

  /** Adds up the days that are over, and removes old rows, once an hour. */
  async function tidy(): Promise<void> {
    const hour = hourNow();
    if (hour === lastClosed.hour) return;
    const today = dayOf(hour);
    for (let day = Math.max(lastClosed.day + 1, today - KEPT_DAYS); day < today; day += 1) {
      const sums = new Map<number, SigningCounts>();
      await addUp(sums, 'hour', DAY_HOURS * day, DAY_HOURS * (day + 1) - 1);
      store.addDay(day, toRows(sums), today - KEPT_DAYS);
      lastClosed.day = day;
    }
    store.prune(hour - keptHours, isPersistent ? today - KEPT_DAYS : today);
    lastClosed.hour = hour;
  }

  async function addUp(sums: Map<number, SigningCounts>, span: Span, from: number, to: number): Promise<void> {
    for (let start = from; start <= to; start += 1) {
      for (const { id, counts } of store.rows(span, start)) addCounts(getOrAdd(sums, id, emptyCounts), counts);
      await nextTurn(clock);
    }
  }

  async function readSubnet(subnetID: SubnetID, warpSet: WarpSet, sinceHour: number): Promise<SubnetRecord> {
    const hour = hourNow();
    const ids = new Map(
      warpSet.validators.flatMap((validator) => {
        const id = store.idOf(subnetID, validator.publicKeyHex);
        return id === undefined ? [] : [[id, validator] as const];
      }),
    );
    const sums = new Map<number, SigningCounts>();
    // Days that are over have rows of their own; the rest, and times within the hours that are kept, are added up by hour.
    const isByDay = sinceHour < hour - keptHours;
    const firstDay = Math.max(dayOf(sinceHour), dayOf(hour) - KEPT_DAYS);
    if (isByDay) await addUp(sums, 'day', firstDay, lastClosed.day);
    const countedFrom = isByDay ? DAY_HOURS * (lastClosed.day + 1) : sinceHour;
    const hours: SigningHour[] = [];
    for (let start = hour - keptHours; start <= hour; start += 1) {
      const rows = store.rows('hour', start).filter(({ id }) => ids.has(id));
      if (start >= countedFrom) for (const { id, counts } of rows) addCounts(getOrAdd(sums, id, emptyCounts), counts);
      if (rows.length > 0) hours.push({ startMs: HOUR_MS * start, weight: weightIn(warpSet, ids, rows) });
      await nextTurn(clock);
    }
    const counts = new Map(Array.from(ids, ([id, validator]) => [validator, sums.get(id)]));
    return {
      subnetID,
      sinceMs: HOUR_MS * (isByDay ? DAY_HOURS * firstDay : sinceHour),
      totalWeight: warpSet.totalWeight,
      hours,
      validators: worstFirst(warpSet.validators.map((one) => recordedValidator(one, counts.get(one)))),
    };
  }

  const read = new FreshCache<string, SubnetRecord | undefined>({
    clock,
    max: MAX_READ,
    maxAgeMs: READ_MAX_AGE_MS,
    async load(key) {
      const [subnetID = '', sinceHour] = key.split(' ');
      await write();
      const warpSet = setOf(subnetID as SubnetID);
      return warpSet && (await readSubnet(subnetID as SubnetID, warpSet, Number(sinceHour)));
    },
  });

  async function findWorst(): Promise<void> {
    const found: Worst[number][] = [];
    for (const [subnetID, warpSet] of sets()) {
      const { validators } = await readSubnet(subnetID, warpSet, hourNow() - DAY_HOURS);
      found.push([subnetID, warpSet, validators.slice(0, WORST).filter((one) => lostWeight(one) > 0n)]);
    }
    worst = found;
  }

  declareWorst(options.metrics, () => worst);
  const stopping = new AbortController();
  let samples = 0;
  const working = repeat(clock, stopping.signal, async () => {
    takeSamples();
    samples += 1;
    if (samples % SAMPLES_PER_WRITE === 1) {
      await write();
      try {
        await tidy();
        await findWorst();
      } catch (err) {
        warn('record', { err }, 'the record of validators cannot be read, or not be shortened');
      }
    }
    return SAMPLE_EVERY_MS;
  });

  return {
    onSigned(subnetID, readAnswers) {
      const warpSet = setOf(subnetID);
      if (warpSet === undefined) return;
      const present = keysOf(warpSet);
      for (const { validator, outcome, tookMs } of readAnswers()) {
        const { publicKeyHex } = validator;
        // The set at another height may have former validators.
        if (!present.has(publicKeyHex)) continue;
        const counts = countsOf(subnetID, publicKeyHex);
        increment(counts, COUNT_NAMES[outcome]);
        if (tookMs !== undefined && (outcome === 'signed' || outcome === 'refused')) addTime(counts, tookMs);
      }
    },
    async subnet(subnetID, sinceMs, signal) {
      if (setOf(subnetID) === undefined) return undefined;
      const hour = hourNow();
      const sinceHour = sinceMs === undefined ? hour - DAY_HOURS : Math.floor(sinceMs / HOUR_MS);
      const earliest = isPersistent ? DAY_HOURS * (dayOf(hour) - KEPT_DAYS) : hour - keptHours;
      return await read.get(`${subnetID} ${Math.min(Math.max(sinceHour, earliest), hour)}`, signal);
    },
    async validator(subnetID, nodeID) {
      const warpSet = setOf(subnetID);
      if (warpSet === undefined) return undefined;
      const validator = warpSet.validators.find(({ nodeIDs }) => nodeIDs.includes(nodeID));
      if (validator === undefined) return 'no validator';
      await write();
      const { publicKeyHex, nodeIDs, weight } = validator;
      const id = store.idOf(subnetID, publicKeyHex);
      const rowsOf = (span: Span, from: number, to: number) =>
        id === undefined ? [] : store.rowsOf(id, span, from, to);
      const hour = hourNow();
      const hours = rowsOf('hour', hour - keptHours, hour);
      const days = rowsOf('day', dayOf(hour) - KEPT_DAYS, lastClosed.day);
      const openDays = Map.groupBy(
        hours.filter(([start]) => dayOf(start) > lastClosed.day),
        ([start]) => dayOf(start),
      );
      const sums = Array.from(openDays, ([day, rows]) => [day, sumOf(rows.map(([, counts]) => counts))] as const);
      return {
        subnetID,
        totalWeight: warpSet.totalWeight,
        publicKeyHex,
        nodeIDs,
        weight,
        hours: spansOf(hours, HOUR_MS),
        days: spansOf([...days, ...sums], DAY_HOURS * HOUR_MS),
      };
    },
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error('the service stops'));
      await working;
      await write();
    },
  };
}

function weightIn(warpSet: WarpSet, ids: ReadonlyMap<number, WarpValidator>, rows: readonly RecordRow[]): bigint {
  const found = new Map(rows.map(({ id, counts }) => [ids.get(id), counts]));
  return signingWeight(warpSet, (validator) => found.get(validator));
}

function toRows(sums: ReadonlyMap<number, SigningCounts>): RecordRow[] {
  return Array.from(sums, ([id, counts]) => ({ id, counts }));
}

/** Sets are immutable. */
const keys = new WeakMap<WarpSet, ReadonlySet<string>>();

function keysOf(warpSet: WarpSet): ReadonlySet<string> {
  const known = keys.get(warpSet);
  if (known !== undefined) return known;
  const made = new Set(warpSet.validators.map(({ publicKeyHex }) => publicKeyHex));
  keys.set(warpSet, made);
  return made;
}

function spansOf(rows: readonly (readonly [number, SigningCounts])[], lengthMs: number): CountedSpan[] {
  return rows.map(([start, counts]) => ({ startMs: lengthMs * start, counts }));
}

function sumOf(all: readonly SigningCounts[]): SigningCounts {
  const sum = emptyCounts();
  for (const counts of all) addCounts(sum, counts);
  return sum;
}

type Worst = readonly (readonly [SubnetID, WarpSet, readonly RecordedValidator[]])[];

function declareWorst(metrics: Metrics, read: () => Worst): void {
  metrics.readGauge<'subnet_id' | 'node_id'>(
    {
      name: 'validator_lost_weight_ratio',
      help: 'The weight of a validator by the share of collections of the last day in which it did not sign, from 0 to 1 of the total weight of its subnet: the ten worst of each tracked subnet',
      labels: ['subnet_id', 'node_id'],
    },
    () =>
      read().flatMap(([subnetID, { totalWeight }, validators]) =>
        validators.map((validator) => ({
          labels: { subnet_id: subnetID, node_id: validator.nodeIDs[0] ?? '' },
          value: Number((lostWeight(validator) * 1_000_000n) / totalWeight) / 1_000_000,
        })),
      ),
  );
}

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}
