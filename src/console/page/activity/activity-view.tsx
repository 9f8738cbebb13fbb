import type { ComponentChild } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { RequestRecord } from '../../../api/requests/request-record.ts';
import { MAX_RECORDS } from '../../../store/local/record-limits.ts';
import { type Place, useSession } from '../session.ts';
import { Card, SelectField, TextField } from '../ui/controls.tsx';
import { dayTime, milliseconds, shortened } from '../ui/figures.ts';
import { type Polled, Stale, usePolled } from '../ui/polled.tsx';
import { type Column, swatched, Table } from '../ui/table.tsx';
import { useSettled } from '../ui/use-answer.ts';
import { findRequests, keyOf } from './find-requests.ts';
import { RequestDetail, RequestLink, rowFactsOf } from './request-detail.tsx';
import { countFailures } from './request-summary.ts';

const LIST_EVERY_MS = 3_000;
/** A search asks for all that its text may name. */
const SEARCH_EVERY_MS = 10_000;
const HOUR_MS = 3_600_000;
/** The last hour has many more records than the list. */
const HOUR_EVERY_MS = 30_000;

/** Recent requests for signatures, and one of them in full. */
export function ActivityView({ place }: { place: Place }): ComponentChild {
  const { api, network, nameOf } = useSession();
  const { rest: id, query } = place;
  const [outcome, setOutcome] = useState('');
  const linked = query.get('search');
  const [search, setSearch] = useState(linked ?? '');
  useEffect(() => {
    if (linked !== null) setSearch(linked);
  }, [linked]);
  const text = useSettled(search);
  const everyMs = text.trim() === '' ? LIST_EVERY_MS : SEARCH_EVERY_MS;
  const list = usePolled((signal) => findRequests(api, { network, text, outcome }, signal), everyMs, [
    network,
    outcome,
    text,
  ]);
  const hour = usePolled(
    (signal) => api.requests({ since: Date.now() - HOUR_MS, limit: MAX_RECORDS }, signal),
    HOUR_EVERY_MS,
    [],
  );
  const failures = countFailures(hour.value ?? []);
  return (
    <div class="view">
      {id !== undefined && <RequestDetail key={id} id={id} />}
      <Card title="Recent requests">
        <div class="filters">
          <SelectField
            label="Outcome"
            value={outcome}
            onValue={setOutcome}
            options={[['', 'all'], ['signed', 'signed'], ...optionsOf(failures, outcome)]}
          />
          <TextField
            label="Search"
            placeholder="any ID, hash or message, or a client"
            type="search"
            value={search}
            onValue={setSearch}
          />
        </div>
        <Requests list={list} />
      </Card>
      <Card title="Failures of the last hour">
        {failures.length === 0 ? (
          <p class="hint">{hour.value === undefined ? 'Not known.' : 'None.'}</p>
        ) : (
          <ul class="list">
            {failures.map(({ subnetId: of, outcome: code, count }) => (
              <li key={`${of} ${code}`}>
                <button type="button" class="button small" onClick={() => (setOutcome(code), setSearch(of ?? ''))}>
                  <strong>{count}</strong>
                  {` ${code}`}
                </button>
                <span class="muted">
                  {of === undefined ? 'subnet not known' : (nameOf(of, 'subnet') ?? shortened(of))}
                </span>
              </li>
            ))}
          </ul>
        )}
      </Card>
    </div>
  );
}

/** Codes that occurred, and the chosen one. */
function optionsOf(failures: ReturnType<typeof countFailures>, chosen: string): (readonly [string, string])[] {
  const codes = new Set<string>(failures.map(({ outcome }) => outcome));
  if (chosen !== '' && chosen !== 'signed') codes.add(chosen);
  return [...codes].sort().map((code) => [code, code] as const);
}

function Requests({ list }: { list: Polled<readonly RequestRecord[]> }): ComponentChild {
  const { nameOf } = useSession();
  const columns: Column<RequestRecord>[] = [
    { name: 'Ended', cell: ({ endedAt }) => dayTime(endedAt) },
    { name: 'Outcome', cell: ({ outcome }) => swatched(outcome === 'signed' ? 'signed' : 'refused', outcome) },
    { name: 'Time', isNumber: true, cell: ({ durationMs }) => milliseconds(durationMs) },
    {
      name: 'Subnet',
      isWide: true,
      cell: ({ signingSubnetId: of }) => (of === undefined ? '–' : (nameOf(of, 'subnet') ?? shortened(of))),
    },
    { name: 'Client', isWide: true, cell: ({ client }) => client },
    { name: 'Request', isWide: true, cell: ({ id }) => <RequestLink id={id} text={shortened(id)} /> },
  ];
  return (
    <Stale polled={list}>
      {list.value?.length === 0 && <p class="hint">No request yet, or none that fits.</p>}
      {list.value !== undefined && list.value.length > 0 && (
        <Table<RequestRecord>
          label="Requests"
          columns={columns}
          rows={list.value}
          keyOf={keyOf}
          openedFacts={rowFactsOf}
        />
      )}
    </Stale>
  );
}
