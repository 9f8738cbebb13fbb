import type { ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import type { RequestRecord } from '../../../api/requests/request-record.ts';
import { MAX_RECORDS } from '../../../store/local/record-limits.ts';
import { MIN_ID_LENGTH, useSession } from '../session.ts';
import { Card, Id, SelectField, TextField } from '../ui/controls.tsx';
import { clockTime, dateTime, milliseconds, shortened } from '../ui/figures.ts';
import { type Polled, Stale, usePolled } from '../ui/polled.tsx';
import { type Column, swatched, Table } from '../ui/table.tsx';
import { RequestDetail } from './request-detail.tsx';
import { countFailures } from './request-summary.ts';

const LIST_EVERY_MS = 3_000;
const LISTED = 200;
const HOUR_MS = 3_600_000;
/** The last hour has many more records than the list. */
const HOUR_EVERY_MS = 30_000;

/** Recent requests for signatures, and one of them in full. */
export function ActivityView({ id }: { id: string | undefined }): ComponentChild {
  const { api, nameOf } = useSession();
  const [outcome, setOutcome] = useState('');
  const [subnet, setSubnet] = useState('');
  const subnetId = subnet.trim().length < MIN_ID_LENGTH ? '' : subnet.trim();
  const list = usePolled((signal) => api.requests({ outcome, subnetId, limit: LISTED }, signal), LIST_EVERY_MS, [
    outcome,
    subnetId,
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
          <TextField label="Subnet" placeholder="subnet ID" type="search" value={subnet} onValue={setSubnet} />
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
                <button type="button" class="button small" onClick={() => (setOutcome(code), setSubnet(of ?? ''))}>
                  <strong>{count}</strong>
                  {` ${code}`}
                </button>
                <span class="muted">{of === undefined ? 'subnet not known' : (nameOf(of) ?? shortened(of))}</span>
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
    { name: 'Ended', cell: ({ endedAt }) => clockTime(endedAt), full: ({ endedAt }) => dateTime(endedAt) },
    { name: 'Outcome', cell: ({ outcome }) => swatched(outcome === 'signed' ? 'signed' : 'refused', outcome) },
    { name: 'Time', isNumber: true, cell: ({ durationMs }) => milliseconds(durationMs) },
    {
      name: 'Subnet',
      isWide: true,
      cell: ({ signingSubnetId: of }) => (of === undefined ? '–' : (nameOf(of) ?? shortened(of))),
      full: ({ signingSubnetId: of }) => (of === undefined ? '–' : <Id value={of} what="subnet ID" />),
    },
    { name: 'Client', isWide: true, cell: ({ client }) => client },
    {
      name: 'Request',
      isWide: true,
      cell: ({ id }) => <RequestLink id={id} text={shortened(id)} />,
      full: ({ id }) => <RequestLink id={id} text={id} />,
    },
  ];
  return (
    <Stale polled={list}>
      {list.value?.length === 0 && <p class="hint">No request yet, or none that fits.</p>}
      {list.value !== undefined && list.value.length > 0 && (
        <Table<RequestRecord>
          label="Requests"
          columns={columns}
          rows={list.value}
          keyOf={({ id, endedAt }) => `${endedAt} ${id}`}
        />
      )}
    </Stale>
  );
}

function RequestLink({ id, text }: { id: string; text: string }): ComponentChild {
  return (
    <a href={`#/activity/${encodeURIComponent(id)}`}>
      <code>{text}</code>
    </a>
  );
}
