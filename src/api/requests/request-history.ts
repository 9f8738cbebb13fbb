import { LRUCache } from 'lru-cache';
import type { BaseServerOptions } from '../../http/server/base-server.ts';
import type { Clock } from '../../lib/concurrency/clock.ts';
import { RECORD_LIFETIME_MS, type RecordList, type SharedRecords } from '../../store/redis/shared-records.ts';
import { entryOf, presentEntry, type RequestEntry, sizeOfEntry } from './request-entry.ts';
import type { RequestRecord } from './request-record.ts';

/** Requests of each list. */
const MAX_ENTRIES_EACH = 1_000;
const MAX_BYTES_EACH = 4 * 1024 * 1024;

export interface RecordFilter {
  readonly outcome?: RequestRecord['outcome'] | undefined;
  readonly signingSubnetID?: string | undefined;
  /** Least `endedAt`. */
  readonly since?: number | undefined;
  /** Whose requests; undefined for those of all clients. */
  readonly client?: string | undefined;
}

/** Checks that a value from the shared store has the form of a record. */
export type IsRecord = (value: unknown) => value is RequestRecord;

/**
 * The recent requests for signatures of this replica, and of the others if they share a store. Signed ones and all others have a list
 * each, so that a client that repeats signed requests does not displace the failures, which operators look for.
 */
export class RequestHistory {
  readonly #clock: Clock;
  readonly #shared: SharedRecords | undefined;
  readonly #lists = { signed: createList(), failed: createList() };
  #added = 0;

  constructor(clock: Clock, shared?: SharedRecords) {
    this.#clock = clock;
    this.#shared = shared;
  }

  add(entry: RequestEntry): void {
    const list = entry.outcome === 'signed' ? 'signed' : 'failed';
    this.#added += 1;
    this.#lists[list].set(this.#added, entry);
    this.#shared?.add(list, () => presentEntry(entry));
  }

  /** Finds the latest request with an ID: clients choose their IDs, so several requests may have the same. */
  async find(id: string, client: string | undefined, isRecord: IsRecord): Promise<RequestRecord | undefined> {
    const isMeant = (one: RequestEntry | RequestRecord) => one.id === id && matches(one, { client });
    const own = this.#own('failed').concat(this.#own('signed')).filter(isMeant);
    if (own.length > 0) return presentEntry(newestFirst(own)[0] as RequestEntry);
    const needles = [`{"id":${JSON.stringify(id)},`, client === undefined ? '' : `"client":${JSON.stringify(client)},`];
    const found = await Promise.all(LISTS.map(async (list) => (await this.#shared?.find(list, needles)) ?? []));
    return newestFirst(found.flat().filter(isRecord).filter(isMeant))[0];
  }

  /** The newest first, without the missing validators. */
  async list(filter: RecordFilter, limit: number, isRecord: IsRecord): Promise<RequestRecord[]> {
    const { outcome, since = this.#clock.now() - RECORD_LIFETIME_MS } = filter;
    const lists = LISTS.filter((list) => outcome === undefined || (outcome === 'signed') === (list === 'signed'));
    const isMeant = (one: RequestEntry | RequestRecord) => matches(one, filter);
    const found = new Map<string, RequestRecord>();
    for (const entry of lists.flatMap((list) => this.#own(list).filter(isMeant))) {
      found.set(keyOf(entry), presentEntry(entry));
    }
    await Promise.all(
      lists.map(async (list) => {
        let count = 0;
        for await (const values of this.#shared?.pages(list) ?? []) {
          const records = values.filter(isRecord);
          const meant = records.filter(isMeant);
          for (const record of meant) found.set(keyOf(record), record);
          count += meant.length;
          if (count >= limit || records.every(({ endedAt }) => endedAt < since)) return;
        }
      }),
    );
    return newestFirst([...found.values()])
      .slice(0, limit)
      .map(withoutMissing);
  }

  /** The newest first. */
  #own(list: RecordList): RequestEntry[] {
    return [...this.#lists[list].values()];
  }
}

/** @returns a listener that records the ends of requests */
export function recordIn(history: RequestHistory, clock: Clock): NonNullable<BaseServerOptions['onRecordedEnd']> {
  return (request, end) => {
    const entry = entryOf(request, end, clock.now());
    if (entry !== undefined) history.add(entry);
  };
}

const LISTS: readonly RecordList[] = ['signed', 'failed'];

function createList() {
  return new LRUCache<number, RequestEntry>({
    max: MAX_ENTRIES_EACH,
    maxSize: MAX_BYTES_EACH,
    sizeCalculation: sizeOfEntry,
  });
}

/** Several requests of a client may have one ID; the list of all replicas has this one's requests too. */
function keyOf({ id, client, endedAt }: Pick<RequestRecord, 'id' | 'client' | 'endedAt'>): string {
  return `${endedAt} ${client} ${id}`;
}

function matches(
  one: RequestEntry | RequestRecord,
  { outcome = one.outcome, signingSubnetID = one.signingSubnetId, since = 0, client = one.client }: RecordFilter,
): boolean {
  const isOfClient = one.client === client;
  return isOfClient && one.outcome === outcome && one.signingSubnetId === signingSubnetID && one.endedAt >= since;
}

function withoutMissing(record: RequestRecord): RequestRecord {
  const { missing: _, missingOmitted: __, ...rest } = record;
  return rest;
}

function newestFirst<T extends { readonly endedAt: number }>(records: readonly T[]): T[] {
  return records.toSorted((a, b) => b.endedAt - a.endedAt);
}
