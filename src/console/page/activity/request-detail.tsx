import type { ComponentChild } from 'preact';
import type { RequestRecord } from '../../../api/requests/request-record.ts';
import { failureOf } from '../console-api.ts';
import { useSession } from '../session.ts';
import { MissingValidators, SignFailure } from '../sign/sign-failure.tsx';
import { Badge, Card, type FactRows, Facts, Id, Legend, NamedId } from '../ui/controls.tsx';
import { dateTime, grouped, milliseconds } from '../ui/figures.ts';
import { usePolled } from '../ui/polled.tsx';
import { OutcomeLegend } from '../ui/weight-map.tsx';
import { outcomesOfRecord, type Stage, stagesOf } from './request-summary.ts';

/** A record does not change, but a request that is running has none yet. */
const EVERY_MS = 10_000;

/** What happened to one request. */
export function RequestDetail({ id }: { id: string }): ComponentChild {
  const { api } = useSession();
  const { value, error, reload } = usePolled((signal) => api.request(id, signal), EVERY_MS, [id]);
  if (value !== undefined) return <Record record={value} />;
  if (error !== undefined) return <SignFailure failure={failureOf(error)} onRetry={reload} />;
  return (
    <Card title="Request">
      <p class="hint">Loading…</p>
    </Card>
  );
}

function Record({ record }: { record: RequestRecord }): ComponentChild {
  const { adviceOf } = useSession();
  const { outcome, weights, missing = [], missingOmitted = 0 } = record;
  const advice = outcome === 'signed' || outcome === 'aborted' ? undefined : adviceOf(outcome);
  const summed = weights && outcomesOfRecord(weights);
  return (
    <Card title={['Request ', <Badge tone={outcome === 'signed' ? 'good' : 'bad'}>{outcome}</Badge>]}>
      {outcome === 'aborted' && <p>The client disconnected before the answer.</p>}
      {advice !== undefined && <p>{`${advice.meaning}.`}</p>}
      <StageBar stages={stagesOf(record)} durationMs={record.durationMs} />
      {summed !== undefined && <OutcomeLegend outcomes={summed.outcomes} />}
      <Facts rows={factsOf(record)} />
      {summed !== undefined && (
        <MissingValidators missing={missing} omitted={missingOmitted} totalWeight={summed.totalWeight} />
      )}
    </Card>
  );
}

function StageBar({ stages, durationMs }: { stages: readonly Stage[]; durationMs: number }): ComponentChild {
  const described = stages.map(({ name, ms }) => `${name} ${milliseconds(ms)}`).join(', ');
  return (
    <div class="stack">
      <p>
        <strong>{milliseconds(durationMs)}</strong>
        <span class="muted"> from the headers of the request to the end of the answer</span>
      </p>
      <div class="stage-bar" role="img" aria-label={`Stages: ${described}`}>
        {stages.map(({ name, ms }) => (
          <span key={name} style={{ flexGrow: ms, background: `var(--cell-${name})` }} />
        ))}
      </div>
      <Legend items={stages.map(({ name, ms }) => [name, name, milliseconds(ms)])} />
    </div>
  );
}

function factsOf(record: RequestRecord): FactRows {
  const { quorumPercentage, quorumPercentageBuffer = 0, pChainHeight, status, network } = record;
  const buffer = quorumPercentageBuffer > 0 ? `, with a buffer of ${quorumPercentageBuffer} %` : '';
  const idRow = (name: string, id: string | undefined): FactRows[number] =>
    id !== undefined && [name, <NamedId value={id} what={name.toLowerCase()} />];
  return [
    ['Ended', dateTime(record.endedAt)],
    ['ID', <Id value={record.id} what="request ID" />],
    ['Client', record.client],
    ['Route', `${record.method} ${record.route}`],
    status !== undefined && ['Status', String(status)],
    network !== undefined && ['Network', network],
    idRow('Source chain', record.sourceChainId),
    idRow('Signing subnet', record.signingSubnetId),
    idRow('Destination', record.destinationBlockchainId),
    pChainHeight !== undefined && ['P-Chain height', grouped(pChainHeight)],
    quorumPercentage !== undefined && ['Quorum', `${quorumPercentage} %${buffer}`],
  ];
}
