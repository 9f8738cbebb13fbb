import type { Clock } from '../../lib/concurrency/clock.ts';
import { TokenBucket } from '../../lib/concurrency/token-bucket.ts';
import { concatBytes } from '../../lib/encoding/bytes.ts';
import { tryParse } from '../../lib/encoding/parse-error.ts';
import { parseJson } from '../../lib/encoding/parse-json.ts';
import { MAX_RECORDS_EACH } from '../local/record-limits.ts';
import type { OpenedSharedStore } from './open-shared.ts';
import { createSeal } from './seal.ts';

export type RecordList = 'signed' | 'failed';

/**
 * Recent records of all replicas, in lists with the newest first. They are for people: losing some harms no request, and more than a
 * share of a flood is not written. Values are sealed and cut to a size, but their form is for the reader to check.
 */
export interface SharedRecords {
  /** Returns at once; `present` is called later, with the other records of a batch. */
  add(list: RecordList, label: RecordLabel, present: () => SharedRecord): void;
  /** Returns the newest value with this label, without a client that of any. The reader compares it: the label is not sealed. */
  find(list: RecordList, label: Pick<RecordLabel, 'id'> & Partial<RecordLabel>): Promise<unknown>;
  /** Returns pages of values, the newest first; none while the store is away. */
  pages(list: RecordList): AsyncIterable<readonly unknown[]>;
}

/** Stands before each value, as ID, tab, client and newline. An ID has neither tab nor newline. */
export interface RecordLabel {
  readonly id: string;
  readonly client: string;
}

export interface SharedRecord {
  /** Left out of a value that is too long. */
  readonly details?: object | CutDetails | undefined;
}

/** What validators did; they choose their texts. */
interface CutDetails {
  /** The most important first: the last are left out of a value that is too long. */
  readonly missing: readonly unknown[];
  readonly missingOmitted: number;
}

/** How long a record is kept. */
export const RECORD_LIFETIME_MS = 60 * 60_000;
/** Without the label, which has some hundred bytes at most. A list of the longest values has 9 MiB. */
const MAX_RECORD_BYTES = 8 * 1024;
/** Records of a batch are encoded and sent together; a client asks another replica no sooner. */
const BATCH_MS = 10;
/** In a flood of requests batches are rare: one costs about 1 ms of CPU time, whatever its size. */
const FLOOD_BATCH_MS = 500;
/** Records of a list that a replica writes. Below half of the capacity, requests count as a flood. */
const WRITES = { capacity: MAX_RECORDS_EACH, perSecond: 20 };
/** Bytes of a page, with the longest values: 450 KiB, which must arrive within the store's timeout. */
const PAGE = 50;
/** Raised with each change of the form of records. */
const FORMAT = 3;

/** A value of another type counts as none. */
const ADD_SCRIPT = `
if redis.call('TYPE', KEYS[1])['ok'] ~= 'list' then redis.call('DEL', KEYS[1]) end
redis.call('LPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], 0, ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`;
const PAGE_SCRIPT = "return redis.call('LRANGE', KEYS[1], ARGV[1], ARGV[2])";
const FIND_SCRIPT = `
for _, value in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if string.find(value, ARGV[1], 1, true) == 1 then return value end
end
return false`;

/** @returns undefined without a secret: a record cannot be verified */
export function createSharedRecords({ store, secret }: OpenedSharedStore, clock: Clock): SharedRecords | undefined {
  if (secret === undefined) return undefined;
  const scope = `v${FORMAT}:requests:`;
  const seal = createSeal(secret, scope);
  const waiting = { signed: createWaiting(clock), failed: createWaiting(clock) };

  function write(list: RecordList): void {
    const values = waiting[list].batch
      .splice(0)
      .map(({ id, client, present }) => concatBytes(utf8(`${id}\t${client}\n`), seal.seal(list, encode(present()))));
    const [last, lifetime] = [String(MAX_RECORDS_EACH - 1), String(RECORD_LIFETIME_MS)];
    void store.ask((redis) =>
      Promise.all(values.map((value) => redis.run(ADD_SCRIPT, scope + list, [value, last, lifetime]))),
    );
  }

  function open(list: RecordList, value: unknown): unknown {
    if (!(value instanceof Uint8Array)) return undefined;
    const sealed = value.subarray(value.indexOf(NEWLINE) + 1);
    if (sealed.length > MAX_RECORD_BYTES) return undefined;
    const json = seal.open(list, sealed);
    return json && parse(json);
  }

  return {
    add(list, { id, client }, present) {
      const { batch, bucket } = waiting[list];
      const left = bucket.left(clock.monotonicMs());
      if (left < 1) return;
      bucket.spend(1);
      batch.push({ id, client, present });
      if (batch.length > 1) return;
      clock.after(left < WRITES.capacity / 2 ? FLOOD_BATCH_MS : BATCH_MS, () => write(list));
    },
    async find(list, { id, client }) {
      const start = client === undefined ? `${id}\t` : `${id}\t${client}\n`;
      return open(list, await store.ask((redis) => redis.run(FIND_SCRIPT, scope + list, [start])));
    },
    async *pages(list) {
      for (let start = 0; start < MAX_RECORDS_EACH; start += PAGE) {
        const range = [String(start), String(start + PAGE - 1)];
        const values = await store.ask((redis) => redis.run(PAGE_SCRIPT, scope + list, range));
        if (!Array.isArray(values) || values.length === 0 || values.length > PAGE) return;
        yield values.map((value) => open(list, value)).filter((value) => value !== undefined);
      }
    },
  };
}

interface Waiting extends RecordLabel {
  readonly present: () => SharedRecord;
}

const NEWLINE = 0x0a;

function createWaiting(clock: Clock) {
  return { bucket: new TokenBucket(WRITES, clock.monotonicMs()), batch: [] as Waiting[] };
}

/** Leaves half of the missing validators out until the value is short enough, and at last all details. */
function encode(record: SharedRecord): Uint8Array {
  const json = utf8(JSON.stringify(record));
  const { details } = record;
  if (json.length <= MAX_RECORD_BYTES - TAG_ROOM || details === undefined) return json;
  if (!('missing' in details) || details.missing.length === 0) return encode({ ...record, details: undefined });
  const missing = details.missing.slice(0, details.missing.length / 2);
  const missingOmitted = details.missingOmitted + details.missing.length - missing.length;
  return encode({ ...record, details: { ...details, missing, missingOmitted } });
}

/** The seal in front of a value. */
const TAG_ROOM = 64;

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function parse(json: Uint8Array): unknown {
  return tryParse(() => parseJson(new TextDecoder().decode(json), 'record'));
}
