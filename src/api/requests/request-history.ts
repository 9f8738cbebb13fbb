import { LRUCache } from 'lru-cache';
import type { BaseServerOptions } from '../../http/server/base-server.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { MAX_RECORDS_EACH } from '../../store/local/record-limits.ts';
import { RECORD_LIFETIME_MS, type RecordList, type SharedRecords } from '../../store/redis/shared-records.ts';
import { entryOf, presentEntry, type RequestEntry, sizeOfEntry } from './request-entry.ts';
import { type RequestRecord, readRecord } from './request-record.ts';

export const MAX_BYTES_EACH = 4 * 1024 * 1024;

export interface RecordFilter {
  readonly outcome?: RequestRecord['outcome'] | undefined;
  readonly signingSubnetID?: string | undefined;
  readonly messageID?: string | undefined;
  /** The forms in which a record may have the transaction. */
  readonly transactions?: readonly string[] | undefined;
  /** Least `endedAt`. */
  readonly since?: number | undefined;
  /** The client of the requests; undefined for those of all clients. */
  readonly client?: string | undefined;
}

/**
 * The recent requests for signatures of this replica, and of the others if they share a store. Signed ones and all others have a list
 * each, so that a client that repeats signed requests does not displace the failures, which operators look for.
 */
export class RequestHistory {
  readonly #clock: Clock;
  readonly #shared: SharedRecords | undefined;
  readonly #own = { signed: createEntries(), failed: createEntries() };

  constructor(clock: Clock, shared?: SharedRecords) {
    this.#clock = clock;
    this.#shared = shared;
  }

  readonly onRecordedEnd: BaseServerOptions['onRecordedEnd'] = (context, end) => {
    const entry = entryOf(context, end, this.#clock.now());
    if (entry !== undefined) this.add(entry);
  };

  add(entry: RequestEntry): void {
    const list = entry.outcome === 'signed' ? 'signed' : 'failed';
    this.#own[list].set(entry, true);
    this.#shared?.add(list, entry, () => presentEntry(entry));
  }

  /** Finds the latest request with an ID: clients choose their IDs, so several requests may have the same. */
  async find(id: string, client: string | undefined): Promise<RequestRecord | undefined> {
    const isMeant = (one: RequestEntry | RequestRecord) => one.id === id && matches(one, { client });
    const [own] = newestFirst(LISTS.flatMap((list) => [...this.#own[list].keys()].filter(isMeant)));
    if (own !== undefined) return presentEntry(own);
    const label = { id, ...(client !== undefined && { client }) };
    const found = await Promise.all(LISTS.map(async (list) => (await this.#shared?.find(list, label)) ?? []));
    return newestFirst(found.flat().flatMap(recordsOf).filter(isMeant))[0];
  }

  /** The newest first, without what the validators did. */
  async list(filter: RecordFilter, limit: number): Promise<RequestRecord[]> {
    const { outcome, since = this.#clock.now() - RECORD_LIFETIME_MS } = filter;
    const lists = LISTS.filter((list) => outcome === undefined || (outcome === 'signed') === (list === 'signed'));
    const isMeant = (one: RequestEntry | RequestRecord) => matches(one, filter);
    const found = new Map<string, RequestRecord>();
    const add = (record: RequestRecord): void => void found.set(keyOf(record), record);
    for (const list of lists) [...this.#own[list].keys()].filter(isMeant).map(presentEntry).forEach(add);
    await Promise.all(
      lists.map(async (list) => {
        let count = 0;
        for await (const values of this.#shared?.pages(list) ?? []) {
          const records = values.flatMap(recordsOf);
          const meant = records.filter(isMeant);
          meant.forEach(add);
          count += meant.length;
          const isOld = records.length > 0 && records.every(({ endedAt }) => endedAt < since);
          if (count >= limit || isOld) return;
        }
      }),
    );
    return newestFirst([...found.values()])
      .slice(0, limit)
      .map(withoutDetails);
  }
}

const LISTS: readonly RecordList[] = ['signed', 'failed'];

/** None for a value of another form. */
function recordsOf(value: unknown): RequestRecord[] {
  const record = readRecord(value);
  return record === undefined ? [] : [record];
}

/** Keeps the latest entries, bounded in number and bytes. Its keys are the entries, the newest first. */
function createEntries(): LRUCache<RequestEntry, true> {
  return new LRUCache({
    max: MAX_RECORDS_EACH,
    maxSize: MAX_BYTES_EACH,
    sizeCalculation: (_, entry) => sizeOfEntry(entry),
  });
}

/**
 * Returns a key that distinguishes requests, also those of a client that sends equal IDs: this replica's records are also in the lists of
 * all replicas.
 */
function keyOf({ id, client, endedAt, durationMs, outcome }: RequestRecord): string {
  return JSON.stringify([id, client, endedAt, durationMs, outcome]);
}

function matches(one: RequestEntry | RequestRecord, filter: RecordFilter): boolean {
  const { outcome, signingSubnetID, messageID, transactions, since = 0, client } = filter;
  const pairs = [
    [one.client, client],
    [one.outcome, outcome],
    [one.signingSubnetId, signingSubnetID],
    [one.messageId, messageID],
  ];
  const isMeant = one.endedAt >= since && pairs.every(([value, wanted]) => wanted === undefined || value === wanted);
  return isMeant && (transactions === undefined || transactions.includes(one.transaction ?? ''));
}

function withoutDetails(record: RequestRecord): RequestRecord {
  const { details: _, ...rest } = record;
  return rest;
}

function newestFirst<T extends { readonly endedAt: number }>(records: readonly T[]): T[] {
  return records.toSorted((a, b) => b.endedAt - a.endedAt);
}
